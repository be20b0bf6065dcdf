from __future__ import annotations

import pytest
from msgspec.structs import replace

from grader_daemon.cli import report_week, terminal
from grader_daemon.domain.estimate import NO_FIGURE, Estimate
from grader_daemon.domain.insight import WeeklyReport
from tests.reports_examples import empty_report, example_alert, example_issue, example_report

FULL = example_report(
    revision=2,
    new_issues=tuple(example_issue(fingerprint=f"1-{number}", sessions=number) for number in range(9)),
    alerts=tuple(example_alert(number=number) for number in range(9)),
)


def shown(of: WeeklyReport, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> str:
    monkeypatch.setattr(terminal, "room", lambda: 80)
    report_week._print(of)
    return capsys.readouterr().out


def test_the_main_points_fit_one_screen(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    text = shown(FULL, monkeypatch, capsys)

    assert len(text.splitlines()) <= 40
    assert (text.count("new error "), text.count("bad endings  ")) == (3, 1)
    assert f"The whole report: grader-daemon report --week {FULL.week} --all\n" in text


def test_nothing_is_said_of_what_too_few_sessions_tell(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    text = shown(
        empty_report(total_sessions=1, ended_badly=replace(NO_FIGURE, now=Estimate(sample=1))), monkeypatch, capsys
    )

    assert "too few" not in text
    assert "measure" not in text


@pytest.mark.parametrize(
    ("of", "command"),
    [
        pytest.param(FULL, "grader-daemon alerts show 0", id="an-open-alert"),
        pytest.param(example_report(alerts=()), "grader-daemon report errors show ", id="the-error-of-most-sessions"),
        pytest.param(empty_report(total_sessions=1), "grader-daemon list", id="nothing-to-look-at"),
    ],
)
def test_what_to_type_next(
    of: WeeklyReport, command: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert f"\nNext: {command}" in shown(of, monkeypatch, capsys)


def test_a_week_without_sessions_has_nothing_to_list(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert "Next: " not in shown(empty_report(), monkeypatch, capsys)
