from __future__ import annotations

import msgspec
import pytest
from msgspec.structs import replace

from grader_daemon.domain.estimate import Estimate, figure
from grader_daemon.domain.insight import FromPeople, WeeklyReport
from grader_daemon.domain.rollup import Sums
from grader_daemon.patterns.groups import spending
from grader_daemon.reports.document_parts import Block, Entries, Layout, Prose, Table, Topic, lay_out
from grader_daemon.reports.html import render_html
from grader_daemon.reports.renderers import RENDERERS
from grader_daemon.reports.safe_text import plain
from tests.reports_examples import empty_report, example_group, example_report, rate


def blocks_of(whole: Layout, topic: Topic) -> tuple[Block, ...]:
    """The blocks of one section."""
    return next(section.blocks for section in whole.sections if section.topic is topic)


def prose_of(whole: Layout, topic: Topic) -> list[str]:
    """The paragraphs of one section."""
    return [plain(block.words) for block in blocks_of(whole, topic) if isinstance(block, Prose)]


@pytest.mark.parametrize(
    "report", [pytest.param(example_report(), id="full"), pytest.param(empty_report(), id="empty")]
)
def test_every_report_has_all_sections_in_order_and_none_is_blank(report: WeeklyReport) -> None:
    sections = lay_out(report).sections

    assert [section.topic for section in sections] == [topic for topic in Topic if topic is not Topic.JOBS]
    assert all(section.blocks for section in sections)


def test_empty_sections_say_so() -> None:
    whole = lay_out(empty_report())

    assert prose_of(whole, Topic.COVERAGE) == ["The agents wrote no session files in this week."]
    assert prose_of(whole, Topic.SUMMARY) == ["No session finished this week, nor the week before."]
    assert prose_of(whole, Topic.PROBLEMS) == [
        "Lowest session scores by task type: too few sessions this week.",
        "Error-prone tools, failed calls: no failed call this week.",
        "Most common errors, failed calls: no failed call this week.",
    ]
    assert prose_of(whole, Topic.SUGGESTIONS) == ["No suggestions this week."]
    assert prose_of(whole, Topic.NEW) == ["No new errors this week."]
    assert prose_of(whole, Topic.RETURNED) == ["No error returned."]
    assert prose_of(whole, Topic.ALERTS) == ["No alerts this week."]
    assert prose_of(whole, Topic.TREND) == ["No weeks to compare yet."]


def test_empty_week_after_a_busy_one_shows_the_one_before() -> None:
    report = empty_report(sessions_before=12, ended_badly=figure(Estimate(), rate(8, 12)))
    table = next(block for block in blocks_of(lay_out(report), Topic.SUMMARY) if isinstance(block, Table))

    assert prose_of(lay_out(report), Topic.SUMMARY)[0] == "No session finished this week; 12 the week before."
    assert [plain(cell) for cell in table.rows[1].cells] == ["Tool efficiency", "no sessions", "no data", "-", "-"]


def test_summary_begins_with_the_three_shares() -> None:
    assert prose_of(lay_out(example_report()), Topic.SUMMARY)[:5] == [
        "93 finished sessions, 5 more than the week before: 7 done, 42 not done, 44 unsure.",
        "3 sessions ended without an answer or a tool call and are not counted.",
        "Verdicts by the trained model, not yet checked: label 50 sessions.",
        "Completion rate: unknown: 0 of 20 random sessions labelled; next: grader-daemon label (4 minutes).",
        "Clearly worse than the week before: bad endings, tool efficiency, failed tool calls.",
    ]


def test_no_rate_stands_among_the_figures_of_the_week() -> None:
    table = next(block for block in blocks_of(lay_out(example_report()), Topic.SUMMARY) if isinstance(block, Table))
    trend = next(block for block in blocks_of(lay_out(example_report()), Topic.TREND) if isinstance(block, Table))

    assert "Completion rate" not in [plain(row.cells[0]) for row in table.rows]
    assert [column.title for column in trend.columns][1:6] == ["Sessions", "Done", "Not done", "Unsure", "Bad endings"]


def test_the_trend_has_a_rate_from_the_first_week_on_of_which_labels_tell_one() -> None:
    first, last = example_report().trend[-2:]
    known = msgspec.structs.replace(last, checked_completion=rate(15, 30))
    trend = next(iter(blocks_of(lay_out(example_report(trend=(first, known))), Topic.TREND)))
    assert isinstance(trend, Table)
    at = [column.title for column in trend.columns].index("Completion rate")
    assert [plain(row.cells[at]) for row in trend.rows] == ["-", "50 %"]


def test_a_report_of_a_version_that_did_not_count_verdicts_has_none() -> None:
    assert prose_of(lay_out(example_report(verdicts=None)), Topic.SUMMARY)[0] == (
        "93 finished sessions, 5 more than the week before."
    )


@pytest.mark.parametrize(
    ("checked", "words"),
    [
        pytest.param(
            Estimate(value=0.58, low=0.49, high=0.67, sample=23),
            "Completion rate: 58 % (49–67 %) done, by 23 random labels.",
            id="checked",
        ),
        pytest.param(
            Estimate(sample=3),
            "Completion rate: unknown: 3 of 20 random sessions labelled; next: grader-daemon label (4 minutes).",
            id="too-few",
        ),
    ],
)
def test_a_rate_is_put_right_by_random_reviews(checked: Estimate, words: str) -> None:
    report = example_report(checked_completion=checked)

    assert prose_of(lay_out(report), Topic.SUMMARY)[3] == words
    for form in RENDERERS.values():
        assert str(checked.sample) in form(report)


def test_week_of_too_few_sessions_says_so() -> None:
    report = example_report(total_sessions=3, sessions_before=3, ended_badly=figure(rate(1, 3), rate(2, 3)))

    assert prose_of(lay_out(report), Topic.SUMMARY)[0] == (
        "3 finished sessions, as many as the week before: 7 done, 42 not done, 44 unsure."
    )


def test_group_stands_with_its_number_its_interval_and_the_week_before() -> None:
    table = blocks_of(lay_out(example_report()), Topic.PROBLEMS)[0]

    assert isinstance(table, Table)
    assert [column.title for column in table.columns] == [
        "Task type", "Sessions", "This week", "Before", "Change", "More than chance?",
    ]  # fmt: skip
    assert [plain(cell) for cell in table.rows[0].cells] == [
        "debugging", "14", "2.4 (2.0–2.8)", "3.5", "−1.1 (−1.7 to −0.5)", "worse",
    ]  # fmt: skip


def test_common_errors_are_told_by_category() -> None:
    tables = [block for block in blocks_of(lay_out(example_report()), Topic.PROBLEMS) if isinstance(block, Table)]

    assert [table.columns[0].title for table in tables] == ["Task type", "Tool", "Category"]


def test_suggestion_stands_with_the_numbers_that_triggered_it_and_examples() -> None:
    entries = blocks_of(lay_out(example_report()), Topic.SUGGESTIONS)[0]

    assert isinstance(entries, Entries)
    assert plain(entries.items[0].title) == "Add pre-task planning steps"
    assert [plain(words) for words in entries.items[0].lines] == [
        "Because 45 % of 93 sessions ended badly",
        "For example 20261120_101500_0f1e2d, 20261119_173000_77aa01",
    ]


def test_week_with_too_few_sessions_has_no_numbers_in_the_trend() -> None:
    table = blocks_of(lay_out(example_report()), Topic.TREND)[0]

    assert isinstance(table, Table)
    thin = next(row for row in table.rows if plain(row.cells[0]) == "2026-W41")
    assert [plain(cell) for cell in thin.cells[1:]] == ["3", "2", "1", "0", *["too few"] * 4]


@pytest.mark.parametrize(
    ("people", "said"),
    [
        pytest.param(
            FromPeople(objected=4, asked_again=1),
            "In 4 of 93 sessions, a person complained, corrected the agent or gave up. After 1 of them, a person asked",
            id="some",
        ),
        pytest.param(
            FromPeople(objected=0, asked_again=0),
            "In 0 of 93 sessions, a person complained, corrected the agent or gave up. After 0 of them, a person asked",
            id="none",
        ),
        pytest.param(None, None, id="report-of-an-older-version"),
    ],
)
def test_summary_says_how_often_people_objected(people: FromPeople | None, said: str | None) -> None:
    prose = prose_of(lay_out(example_report(people=people)), Topic.SUMMARY)

    assert [sentence for sentence in prose if "complained" in sentence] == (
        [] if said is None else [f"{said} for the same again."]
    )


def test_empty_week_says_nothing_of_people() -> None:
    report = empty_report(people=FromPeople(objected=0, asked_again=0), sessions_before=5)

    assert not [said for said in prose_of(lay_out(report), Topic.SUMMARY) if "complained" in said]


def test_a_week_of_several_agents_says_so_before_any_number_of_all() -> None:
    agents = (example_group("claude-code", sessions=40), example_group("hermes", sessions=12))
    blocks = blocks_of(lay_out(example_report(agents=agents)), Topic.SUMMARY)
    said = next(plain(block.words) for block in blocks if isinstance(block, Prose) and "Agents" in plain(block.words))
    assert said == "Agents: claude-code 40, hermes 12. Figures that are not by agent cover all agents together."
    tables = [block for block in blocks if isinstance(block, Table)]
    assert [table.caption for table in tables] == ["Bad endings by agent", "The week in numbers"]
    assert [plain(row.cells[0]) for row in tables[0].rows] == ["claude-code", "hermes"]


def test_a_week_of_a_fleet_tells_each_machine_and_how_the_whole_is_compared() -> None:
    hosts = (example_group("laptop", sessions=40), example_group("desk", sessions=12))
    blocks = blocks_of(lay_out(example_report(hosts=hosts)), Topic.SUMMARY)
    said = [plain(block.words) for block in blocks if isinstance(block, Prose)]
    assert "Changes compare each machine with itself, weighted by its current number of sessions." in said
    [table] = [block for block in blocks if isinstance(block, Table) and block.caption == "Bad endings by machine"]
    assert [plain(row.cells[0]) for row in table.rows] == ["laptop", "desk"]


def test_a_week_of_one_agent_needs_no_table_of_agents() -> None:
    whole = lay_out(example_report(agents=(example_group("hermes"),)))
    assert whole == lay_out(example_report())


def test_what_a_week_cost_stands_beside_the_week_before() -> None:
    # 4.20 $ in 7 days, by 30 tasks
    spent = spending(Sums(sessions=40, priced=31, cost_millionths=4_200_000, priced_tasks=30))
    before = spending(Sums(sessions=10, priced=10, cost_millionths=1_000_000))
    told = prose_of(lay_out(example_report(spending=spent, spending_before=before)), Topic.SUMMARY)
    assert (
        "Spent: $4.20 for 31 of 40 sessions, $0.60 a day; $0.14 for each of 30 tasks, done or not;"
        " the week before: $1.00 for all 10 sessions."
    ) in told


def test_a_week_of_which_no_cost_is_known_says_nothing_of_it() -> None:
    whole = lay_out(example_report(spending=spending(Sums(sessions=40)), spending_before=spending(Sums())))
    assert whole == lay_out(example_report())


def test_a_hostile_name_of_an_agent_is_text_on_a_page() -> None:
    agents = (example_group("<script>alert(1)</script>"), example_group("hermes"))
    assert "<script>" not in render_html(example_report(agents=agents))


@pytest.mark.parametrize(("by_words", "notes"), [(False, 1), (True, 0), (None, 0)])
def test_changes_that_rest_on_probabilities_end_with_what_that_is_worth(by_words: bool | None, notes: int) -> None:
    report = example_report()
    changes = tuple(replace(effect, by_words=by_words) for effect in report.changes or ())

    found = prose_of(lay_out(replace(report, changes=changes)), Topic.CHANGES)

    assert sum("Compared by probabilities" in words for words in found) == notes


def test_scheduled_runs_are_told_apart_from_tasks() -> None:
    runs = replace(example_group("cron"), sessions=12, unanswered=3)

    found = prose_of(lay_out(replace(example_report(), scheduled=runs)), Topic.SUMMARY)

    assert any(
        words.startswith("+ 15 scheduled, counted separately: 1 done, 4 not done, 9 unsure; bad endings: ")
        for words in found
    )


def test_weeks_before_the_first_session_are_not_told() -> None:
    point = example_report().trend[-1]
    empty = msgspec.structs.replace(point, sessions=0, week="2026-W01")
    report = example_report(trend=(empty, empty, point, msgspec.structs.replace(empty, week="2026-W03")))

    (table,) = blocks_of(lay_out(report), Topic.TREND)

    assert isinstance(table, Table)
    assert [plain(row.cells[0]) for row in table.rows] == [point.week, "2026-W03"]
