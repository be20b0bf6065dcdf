from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from grader_daemon.analysis.user_messages import TaskTypes, digest_of, summarize, without_secrets, written_by_person
from grader_daemon.domain.rules import Rules
from grader_daemon.redaction import SECRETS
from grader_daemon.rules import load_rules
from tests.tables import for_each

KEYWORDS = {
    "code_review": ["review", "reviews", "reviewed", "reviewing", "code review", "code reviews", "PR", "PRs", "pr"],
    "debugging": ["debug", "debugs", "debugged", "debugging", "fix", "fixes", "fixed", "fixing", "troubleshoot",
                  "troubleshoots", "troubleshooting"],
    "feature_impl": ["implement", "implements", "implemented", "implementing", "add feature", "add a feature",
                     "adds the new features", "added this feature", "adding our feature", "build", "builds", "built",
                     "building"],
    "refactoring": ["refactor", "refactors", "refactored", "refactoring", "clean up", "cleans up", "cleaned up",
                    "cleaning up", "clean this up", "reorganize", "reorganizes", "reorganized", "reorganizing"],
    "documentation": ["document", "documents", "documented", "documenting", "readme", "README", "readmes", "docstring",
                      "docstrings"],
    "testing": ["test", "tests", "tested", "testing", "pytest", "unit test", "unit tests"],
    "research": ["research", "researches", "researched", "researching", "investigate", "investigates", "investigated",
                 "investigating", "look up", "looks up", "looked up", "looking up", "look that up"],
    "deployment": ["deploy", "deploys", "deployed", "deploying", "release", "releases", "released", "releasing",
                   "publish", "publishes", "published", "publishing"],
    "data_analysis": ["analyze data", "analyze the data", "analyzes our data", "analyzed data", "analyzing some data",
                      "process file", "process the files", "processes a file", "processed files",
                      "processing this file",
                      "parse", "parses", "parsed", "parsing"],
    "infrastructure": ["server", "servers", "docker", "Docker", "kubernetes", "Kubernetes"],
}  # fmt: skip


@pytest.fixture(scope="module")
def task_types() -> TaskTypes:
    return TaskTypes(load_rules().task_types)


@for_each(
    ("keyword", "task_type"),
    [pytest.param(word, kind, id=f"{kind}-{word}") for kind, words in KEYWORDS.items() for word in words],
)
def test_a_keyword_tells_the_task_type(task_types: TaskTypes, keyword: str, task_type: str) -> None:
    assert task_types.of(f"Please {keyword} quickly, thanks!") == task_type


@pytest.mark.parametrize(
    "request_text",
    [
        pytest.param("Add a prefix and a suffix", id="prefix-is-not-fix"),
        pytest.param("The latest contest", id="contest-is-not-test"),
        pytest.param("Express the approach in prose", id="approach-is-not-PR"),
        pytest.param("A sparse preview", id="preview-is-not-review"),
        pytest.param("Observers of the dockyard", id="dockyard-is-not-docker"),
        pytest.param("add the login page; it is a feature", id="phrase-with-other-words-between"),
        pytest.param("up, look! a data analyze", id="phrase-in-another-order"),
        pytest.param("Hello there", id="no-keyword"),
        pytest.param("", id="empty"),
        pytest.param("?!… 漢字 🎉", id="no-words"),
    ],
)
def test_other_words_are_general(task_types: TaskTypes, request_text: str) -> None:
    assert task_types.of(request_text) == "general"


def test_no_request_is_general(task_types: TaskTypes) -> None:
    assert task_types.of(None) == "general"


@pytest.mark.parametrize(
    "request_text",
    [
        pytest.param("What is the server's name?", id="straight-apostrophe"),
        pytest.param("What is the server’s name?", id="curly-apostrophe"),
    ],
)
def test_a_possessive_is_the_same_word(task_types: TaskTypes, request_text: str) -> None:
    assert task_types.of(request_text) == "infrastructure"


@pytest.mark.parametrize(
    ("request_text", "task_type"),
    [
        pytest.param("Deploy, then deploy again, then test", "deployment", id="two-hits-against-one"),
        pytest.param("Test the server and restart the server", "infrastructure", id="most-hits-though-last-in-order"),
        pytest.param("Do a unit test of the docker server", "testing", id="equal-hits-a-phrase-counts-beside-its-word"),
        pytest.param("docker, kubernetes and the fix", "infrastructure", id="different-words-of-one-type-add-up"),
    ],
)
def test_most_hits_win(task_types: TaskTypes, request_text: str, task_type: str) -> None:
    assert task_types.of(request_text) == task_type


@pytest.mark.parametrize(
    ("first", "second"),
    [
        pytest.param(first, second, id=f"{first}-before-{second}")
        for first, second in zip(list(KEYWORDS)[:-1], list(KEYWORDS)[1:], strict=True)
    ],
)
def test_of_equals_the_first_in_the_table_wins(task_types: TaskTypes, first: str, second: str) -> None:
    single = {kind: next(word for word in words if " " not in word) for kind, words in KEYWORDS.items()}
    assert task_types.of(f"{single[second]} and {single[first]}") == first


def test_words_far_into_a_request_are_not_looked_at(task_types: TaskTypes) -> None:
    assert task_types.of("word " * 5_000 + "deploy") == "general"


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("[System: Your previous response was truncated by the output length limit.", id="truncated"),
        pytest.param("[System: Continue now. Execute the required tool calls", id="continue-now"),
        pytest.param("You've reached the maximum number of tool-calling iterations allowed.", id="iteration-limit"),
        pytest.param("[CONTEXT COMPACTION — REFERENCE ONLY] Earlier turns were compacted", id="compaction"),
        pytest.param("Review the conversation above and update the skill library. Be ACTIVE", id="skill-review"),
        pytest.param("Review the conversation above and consider saving to memory", id="memory-review"),
        pytest.param("You just executed tool calls but returned an empty response. Please", id="empty-response"),
        pytest.param("###STOP###", id="a-harness-ends-the-talk"),
        pytest.param(" ###TRANSFER###\n", id="a-harness-hands-over"),
        pytest.param("exit", id="a-command-to-the-harness"),
        pytest.param("Final reward: 0.5", id="a-reward"),
    ],
)
def test_injected_messages_are_not_from_a_person(text: str, rules: Rules) -> None:
    assert written_by_person(text, rules.people) is None


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("Fix the tests", id="request"),
        pytest.param("Please review the code above and consider tests", id="similar-words"),
        pytest.param("What does [System: x] mean?", id="quotation"),
        pytest.param("", id="empty"),
        pytest.param("How do I exit", id="a-word-at-the-end"),
        pytest.param("What is ###STOP### for?", id="a-mark-in-the-middle"),
        pytest.param("The score: 5 goals to 1", id="a-number-of-something"),
    ],
)
def test_other_user_messages_are_from_a_person(text: str, rules: Rules) -> None:
    assert written_by_person(text, rules.people) == text


def test_what_stands_before_the_mark_of_a_harness_is_from_a_person(rules: Rules) -> None:
    assert written_by_person("Thank you, goodbye!\n\n###STOP###\n", rules.people) == "Thank you, goodbye!"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        pytest.param(
            "[CONTEXT COMPACTION — REFERENCE ONLY] Earlier\n--- END OF CONTEXT SUMMARY — answer below ---\n\nNo, wrong",
            "No, wrong",
            id="words-below-a-summary",
        ),
        pytest.param("[CONTEXT COMPACTION] x\n--- END OF CONTEXT SUMMARY ---\n \n", None, id="nothing-below-a-summary"),
        pytest.param("[CONTEXT COMPACTION] x\n--- END OF CONTEXT SUMMARY ---", None, id="nothing-after-a-summary"),
        pytest.param(
            "[CONTEXT COMPACTION] x\n--- END OF CONTEXT SUMMARY ---\n[System: Continue]",
            None,
            id="another-below-a-summary",
        ),
        pytest.param(
            "[CONTEXT COMPACTION] a\n--- END OF CONTEXT SUMMARY ---\nb\n--- END OF CONTEXT SUMMARY ---\nc",
            "c",
            id="below-the-last-of-two-summaries",
        ),
    ],
)
def test_what_stands_below_a_summary_is_from_a_person(text: str, said: str | None, rules: Rules) -> None:
    assert written_by_person(text, rules.people) == said


# -- the digest of a request ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("FIX the Date Parser, please", id="case"),
        pytest.param("  Fix the\n\tdate parser\u00a0please ", id="white-space"),
        pytest.param("Fix the date parser, please!!", id="punctuation"),
        pytest.param("**Fix** the `date` parser please", id="markdown"),
        pytest.param("Fix the “date” parser – please…", id="punctuation-of-print"),
    ],
)
def test_the_same_request_has_the_same_digest(text: str, rules: Rules) -> None:
    assert digest_of(text, rules.people) == digest_of("Fix the date parser please", rules.people) is not None


@pytest.mark.parametrize(
    ("one", "other"),
    [
        pytest.param("Convert the first 10 files", "Convert the first 11 files", id="numbers"),
        pytest.param("Convert all of the files", "Convert none of the files", id="words"),
        pytest.param("Convert all of the files", "all of the files Convert", id="order"),
        pytest.param("a b " * 2_000 + "one", "a b " * 2_000 + "two", id="far-from-the-beginning"),
        pytest.param("Überprüfe das Verzeichnis", "Uberprufe das Verzeichnis", id="other-letters"),
    ],
)
def test_other_requests_have_other_digests(one: str, other: str, rules: Rules) -> None:
    assert digest_of(one, rules.people) != digest_of(other, rules.people)


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("", id="empty"),
        pytest.param("go on", id="two-words"),
        pytest.param("Run the tests!!!!!!!!!!!!!!!!!!!!!!!!!!", id="punctuation-does-not-count"),
        pytest.param("?!…" * 100, id="no-words"),
    ],
)
def test_a_short_request_has_no_digest(text: str, rules: Rules) -> None:
    assert digest_of(text, rules.people) is None


@given(st.text(max_size=300))
def test_a_digest_fits_into_a_column(text: str) -> None:
    digest = digest_of(text, load_rules().people)
    assert digest is None or 0 <= digest < 2**63


@pytest.mark.parametrize(
    ("request_text", "summary"),
    [
        pytest.param("Fix  the\n\ttests \r\n", "Fix the tests", id="one-line"),
        pytest.param("a\x00b\x1b[31mc\x7fd\x85e", "a b [31mc d e", id="no-control-characters"),
        pytest.param("a\u2028b\u202ec", "a b c", id="no-line-separators-or-direction-marks"),
        pytest.param("x" * 200, "x" * 200, id="just-short-enough"),
        pytest.param("x" * 201, "x" * 199 + "…", id="cut"),
        pytest.param(
            "use OPENAI_API_KEY=sk-proj-abcdefghijklmnopqrstuvwxyz", "use OPENAI_API_KEY=[redacted]", id="secret"
        ),
        pytest.param(None, None, id="nobody-asked"),
    ],
)
def test_summary_is_one_short_printable_line(request_text: str | None, summary: str | None, rules: Rules) -> None:
    assert summarize(without_secrets(request_text, SECRETS), rules.people) == summary


def test_a_secret_longer_than_a_summary_is_redacted(rules: Rules) -> None:
    token = "eyJ" + "h" * 30 + "." + "p" * 1900 + "." + "s" * 40
    summary = summarize(without_secrets(f"Why is {token} refused?", SECRETS), rules.people)
    assert summary is not None
    assert "ppp" not in summary


@pytest.mark.parametrize("blanks", range(560, 600, 3))
def test_a_secret_that_the_reach_of_a_summary_cuts_is_not_shown(rules: Rules, blanks: int) -> None:
    summary = summarize(without_secrets(f"Look{' ' * blanks}mysql://app:Zugvogel17@db/shop", SECRETS), rules.people)

    assert summary is not None
    assert "Zug" not in summary


def test_a_request_after_much_white_space_is_still_seen(rules: Rules) -> None:
    assert summarize(without_secrets(" \n" * 2_000 + "Fix the tests", SECRETS), rules.people) == "Fix the tests"


@given(request_text=st.text())
def test_any_request_gives_a_short_printable_summary(request_text: str, rules: Rules) -> None:
    summary = summarize(without_secrets(request_text, SECRETS), rules.people)
    assert summary is not None
    assert len(summary) <= 200
    assert not any(ord(character) < 32 or 127 <= ord(character) < 160 for character in summary)
    assert len(summary.splitlines()) <= 1


@given(request_text=st.text())
def test_any_request_has_a_task_type_of_the_table(task_types: TaskTypes, request_text: str) -> None:
    assert task_types.of(request_text) in {*KEYWORDS, "general"}


def test_the_words_of_each_type_are_those_that_a_text_has(rules: Rules) -> None:
    own = msgspec.structs.replace(rules.task_types, keywords={"mending": ("patch", "stack trace"), "other": ("fax",)})

    assert TaskTypes(own).said("Patches a stack of traces by fax") == {"mending": {"patches"}, "other": {"fax"}}
    assert TaskTypes(own).said("Reads stack traces") == {"mending": {"stack traces"}}


@pytest.mark.parametrize("word", ["patch", "patches", "patched", "fax", "faxes", "verify", "verifies", "verified"])
def test_regular_inflections_of_words_of_ones_own(rules: Rules, word: str) -> None:
    own = msgspec.structs.replace(rules.task_types, keywords={"mending": ("patch", "fax", "verify")})

    assert TaskTypes(own).of(f"Please {word} it") == "mending"


def test_the_words_of_task_types_are_told_to_those_who_look_elsewhere() -> None:
    rules = load_rules().task_types
    words = TaskTypes(rules).words
    assert ("code", "review") in words.phrases["code_review"]
    assert (list(words.phrases), set(words.ignored)) == (list(rules.keywords), set(rules.ignored_words))
