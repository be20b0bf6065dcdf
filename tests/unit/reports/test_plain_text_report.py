from __future__ import annotations

import pytest
from hypothesis import given

from grader_daemon.domain.insight import WeeklyReport
from grader_daemon.reports.plain_text_report import NARROWEST, WIDEST, render_text
from grader_daemon.reports.safe_text import columns
from tests.reports_examples import empty_report, example_group, example_report, hostile_report
from tests.reports_figures import words_of_figures
from tests.strategies import texts


@pytest.mark.parametrize(
    "report",
    [
        pytest.param(example_report(), id="full"),
        pytest.param(empty_report(), id="empty"),
        pytest.param(hostile_report(), id="hostile"),
        pytest.param(hostile_report("漢" * 300), id="wide-characters"),
    ],
)
def test_nothing_is_wider_than_a_terminal_or_could_steer_it(report: WeeklyReport) -> None:
    lines = render_text(report).split("\n")

    assert max(map(columns, lines)) <= WIDEST
    assert all(line.replace("\ufffd", "").isprintable() for line in lines)


@pytest.mark.parametrize("width", [pytest.param(0, id="none"), *(NARROWEST, 60, 79, 80, 90, WIDEST), 500])
@pytest.mark.parametrize(
    "report", [pytest.param(example_report(), id="full"), pytest.param(hostile_report(), id="hostile")]
)
def test_nothing_is_wider_than_asked_for(report: WeeklyReport, width: int) -> None:
    lines = render_text(report, width=width).split("\n")

    assert max(map(columns, lines)) <= min(WIDEST, max(NARROWEST, width))


@given(text=texts)
def test_any_words_from_sessions_are_fit_for_a_terminal(text: str) -> None:
    lines = render_text(hostile_report(text)).split("\n")

    assert max(map(columns, lines)) <= WIDEST
    assert all(line.replace("\ufffd", "").isprintable() for line in lines)


def test_all_figures_are_there() -> None:
    text = render_text(example_report())

    assert [words for words in words_of_figures(example_report()) if words not in text] == []


def test_headings_come_in_reading_order() -> None:
    text = render_text(example_report())
    headings = ("Weekly report, 2026-W47", "Coverage\n", "Summary\n", "Problem areas\n", "Suggestions\n", "Trend\n")

    assert sorted(headings, key=text.index) == list(headings)


def test_columns_stand_under_their_titles() -> None:
    lines = render_text(example_report()).split("\n")
    start = next(number for number, line in enumerate(lines) if line.startswith("Task type"))
    verdict = lines[start].index("More than chance?")

    assert [line[verdict:] for line in lines[start + 1 : start + 4]] == ["worse", "no", "-"]


def test_long_names_give_way_to_numbers() -> None:
    report = example_report(error_prone_tools=(example_group("t" * 300),))

    row = next(line for line in render_text(report).split("\n") if line.startswith("ttt"))

    assert "…  " in row
    assert row.endswith("  no")


def test_table_that_does_not_fit_becomes_a_list_with_the_same_figures() -> None:
    text = render_text(example_report(), width=60)

    assert "terminal\n  failures 41, calls 180, this week 23 % (12–39 %), before\n  12 %" in text
    flowing = " ".join(text.split())
    assert [words for words in words_of_figures(example_report()) if words not in flowing] == []


def test_numbers_of_any_size_are_never_cut() -> None:
    group = example_group("terminal", calls=10**40, failures=10**39)

    text = render_text(example_report(error_prone_tools=(group,)))

    assert f"{10**39:,}" in " ".join(text.split())


def test_same_report_gives_the_same_text() -> None:
    assert render_text(example_report()) == render_text(example_report())
