"""A report of a session for an issue: what was said, what happened, and no markup of the session's own."""

from __future__ import annotations

import re

from grader_daemon.api.bug_report import bug_report
from grader_daemon.api.said_and_happened import Happened, SaidAndHappened
from grader_daemon.domain.analysis import Category, Failure, FailureKind
from grader_daemon.domain.claims import Claim, ClaimKind, ClaimReason, Support
from grader_daemon.domain.session_result import EndingKind, ResultStanding
from tests.strategies import grade

LIED = Claim(ClaimKind.TESTS_PASSED, Support.CONTRADICTED, None, 7, (6,), ClaimReason.TESTS_FAILED, "All 12 tests pass")
RUN = Happened(index=6, call="pytest -q", is_command=True, lines=("1 failed, 11 passed",), exit_code=1)


def test_it_has_what_was_said_and_the_run_that_speaks_against_it() -> None:
    failed = Failure(6, "terminal", Category.COMMAND_FAILED, "pytest")
    made = grade(
        task_summary="Export the table",
        ending=EndingKind.ANSWERED,
        standing=ResultStanding.CONTRADICTED,
        failures=(failed,),
        claims=(LIED,),
    )
    text = bug_report(made, [SaidAndHappened(claim=LIED, happened=RUN)])

    assert text.startswith("# `Export the table`\n\n- Session `")
    assert "Message 7 says `All 12 tests pass`. Contradicted: the last run failed (message 6)." in text
    assert "```\n$ pytest -q\n1 failed, 11 passed\nexit 1\n```" in text
    assert "- message 6: `terminal pytest`, command failed, never worked later, contradicts a claim\n" in text
    assert "- Ending: answered\n- Result: claim contradicted" in text


def test_what_is_borne_out_is_left_out() -> None:
    true = Claim(ClaimKind.FILE_WRITTEN, Support.VERIFIED, "a.py", 7, (4,))

    assert "Said" not in bug_report(grade(claims=(true,)), [SaidAndHappened(claim=true, happened=None)])


def test_nothing_of_a_session_ends_its_own_quotation() -> None:
    hostile = Claim(ClaimKind.TESTS_PASSED, Support.CONTRADICTED, None, 7, (6,), words="`` <img src=x> ` @everyone")
    run = Happened(index=6, call="echo ````", is_command=True, lines=("````", "# <script>"), exit_code=None)
    text = bug_report(grade(task_summary="a\n\n# b `c`"), [SaidAndHappened(claim=hostile, happened=run)])

    assert text.startswith("# `` a # b `c` ``\n")
    assert "``` `` <img src=x> ` @everyone ```" in text
    assert "`````\n$ echo ````\n````\n# <script>\n`````" in text


def test_failures_that_tell_most_of_the_end_come_first() -> None:
    kinds = {2: FailureKind.RECOVERED, 4: FailureKind.HARMFUL, 5: FailureKind.PROBE, 6: FailureKind.RECOVERED}
    failed = tuple(Failure(at, "terminal", Category.COMMAND_FAILED, kind=kind) for at, kind in kinds.items())
    text = bug_report(grade(failures=failed, claims=(LIED,)), [])

    assert re.findall(r"- message (\d+): `terminal`, command failed, (.*)", text) == [
        ("6", "worked later, contradicts a claim"),
        ("4", "never worked later"),
        ("2", "worked later"),
        ("5", "a probe, no error"),
    ]


def test_a_long_title_is_cut_between_words() -> None:
    assert bug_report(grade(task_summary="word " * 50), []).startswith(f"# `{'word ' * 30}word…`\n")
    assert bug_report(grade(task_summary="w" * 200), []).startswith(f"# `{'w' * 159}…`\n")


def test_of_many_failures_ten_are_told() -> None:
    failed = tuple(Failure(index, None, Category.COMMAND_FAILED) for index in range(12))
    text = bug_report(grade(failures=failed), [])

    assert text.count("- message") == 10
    assert "- and 2 more" in text
