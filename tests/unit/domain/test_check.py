from __future__ import annotations

from grader_daemon.domain.check import CheckState, Finding, ok, problem, unknown, warning


def test_findings_say_how_it_stands_and_what_to_do() -> None:
    assert [ok("fine"), warning("slow", "wait"), problem("gone", "mount it"), unknown("no word")] == [
        Finding(CheckState.OK, "fine", None),
        Finding(CheckState.WARNING, "slow", "wait"),
        Finding(CheckState.PROBLEM, "gone", "mount it"),
        Finding(CheckState.UNKNOWN, "no word", None),
    ]
