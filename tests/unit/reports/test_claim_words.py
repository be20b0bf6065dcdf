from __future__ import annotations

from msgspec.structs import replace

from grader_daemon.domain.claims import ClaimKind, ClaimTally, Support
from grader_daemon.reports.claim_words import against_words, tally_sentences
from grader_daemon.reports.document_parts import Prose, Topic, lay_out
from grader_daemon.reports.safe_text import plain
from tests.reports_examples import example_report

TESTS = ClaimTally(
    kind=ClaimKind.TESTS_PASSED,
    sessions=45,
    supports={Support.VERIFIED: 30, Support.CONTRADICTED: 2, Support.STALE: 1},
    against={"opus": 2, "gpt": 1},
)
SENT = ClaimTally(kind=ClaimKind.SENT, sessions=4, supports={Support.VERIFIED: 4}, against={})
SAID = "Claimed in 45 sessions: tests passed. The record contradicts it in 3: opus 2, gpt 1."


def test_what_records_speak_against_is_told_by_kind_and_model() -> None:
    assert [plain(words) for words in tally_sentences([TESTS, SENT])] == [SAID]


def test_few_models_are_named_and_the_others_counted() -> None:
    many = replace(TESTS, against={"a": 4, "b": 3, "c": 2, "d": 1, "e": 1})
    assert plain(against_words(many)) == "11: a 4, b 3, c 2, 2 more models"
    assert plain(against_words(SENT)) == "0"


def test_a_report_tells_what_records_speak_against() -> None:
    report = replace(example_report(), claims=(TESTS, SENT))
    [summary] = [each for each in lay_out(report).sections if each.topic is Topic.SUMMARY]
    assert SAID in [plain(block.words) for block in summary.blocks if isinstance(block, Prose)]
