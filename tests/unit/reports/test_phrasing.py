from __future__ import annotations

from datetime import UTC, date, datetime, timedelta, timezone
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from grader_daemon.domain.alert import SCHEDULED, Decomposition, DropCause, ShareChange, Stream
from grader_daemon.domain.calibration import GraderChange
from grader_daemon.domain.error_groups import StepCount
from grader_daemon.domain.estimate import proportion
from grader_daemon.domain.insight import Coverage
from grader_daemon.domain.rollup import Dimension, Metric
from grader_daemon.domain.verdict import VerdictCounts
from grader_daemon.reports.phrasing import (
    MOST_CHANGES,
    MOST_SESSIONS,
    alert_cause,
    alert_lines,
    alert_title,
    coverage_words,
    days,
    examples,
    grader_sentences,
    helped,
    issue_in_brief,
    issue_lines,
    issue_title,
    moment,
    notes,
    stream_words,
    sure_step,
)
from grader_daemon.reports.safe_text import Words, plain
from tests.reports_examples import example_alert, example_issue, example_report, example_step


def read(paragraphs: tuple[Words, ...]) -> list[str]:
    """The sentences as a person reads them."""
    return [plain(words) for words in paragraphs]


@pytest.mark.parametrize(
    ("first", "last", "words"),
    [
        pytest.param(date(2026, 11, 16), date(2026, 11, 22), "16 to 22 November 2026", id="one-month"),
        pytest.param(date(2026, 11, 30), date(2026, 12, 6), "30 November to 6 December 2026", id="two-months"),
        pytest.param(date(2025, 12, 29), date(2026, 1, 4), "29 December 2025 to 4 January 2026", id="two-years"),
    ],
)
def test_days_are_said_once(first: date, last: date, words: str) -> None:
    assert days(first, last) == words


def test_moments_are_told_with_their_zone() -> None:
    here = datetime(2026, 11, 17, 1, 5, tzinfo=timezone(timedelta(hours=2)))

    assert moment(here, UTC) == "16 November 2026, 23:05 UTC"
    assert moment(here, ZoneInfo("Asia/Tokyo")) == "17 November 2026, 08:05 JST"


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        pytest.param({}, [], id="a-first-report-of-a-whole-week"),
        pytest.param({"complete": False}, ["The week is not over: provisional."], id="incomplete"),
        pytest.param(
            {"revision": 2, "late_sessions": 3},
            ["Revision 2: 3 sessions arrived after the first report."],
            id="late-sessions",
        ),
        pytest.param(
            {"revision": 2, "late_sessions": -1}, ["Revision 2: 1 session fewer than in the first report."], id="fewer"
        ),
        pytest.param(
            {"revision": 3}, ["Revision 3: some sessions were graded again since the first report."], id="graded-again"
        ),
    ],
)
def test_notes_say_what_changed_since_the_first_report(changes: dict[str, Any], said: list[str]) -> None:
    assert read(notes(example_report(**changes))) == said


@pytest.mark.parametrize(
    ("coverage", "words"),
    [
        pytest.param(
            Coverage(seen=0, graded=0, open_sessions=0, skipped={}, waiting=0, dead=0),
            "The agents wrote no session files in this week.",
            id="nothing",
        ),
        pytest.param(
            Coverage(seen=9, graded=9, open_sessions=0, skipped={}, waiting=0, dead=0),
            "9 session files of this week: 9 graded.",
            id="all-graded",
        ),
        pytest.param(
            Coverage(seen=12, graded=3, open_sessions=1, skipped={"b": 1, "a_copy": 1, "c": 2}, waiting=1, dead=2),
            "12 session files of this week: 3 graded, 1 still open and not counted, 4 skipped (c 2, a copy 1, b 1), "
            "1 waiting to be retried, 2 that could not be graded.",
            id="everything-most-frequent-reason-first",
        ),
    ],
)
def test_coverage_says_what_became_of_the_files(coverage: Coverage, words: str) -> None:
    assert plain(coverage_words(coverage)) == words


@pytest.mark.parametrize(
    ("steps", "words"),
    [
        pytest.param((), "The next steps of the agents are unknown", id="nothing-known"),
        pytest.param(
            (example_step("terminal", 3, 0), example_step("web_search", 1, 0)),
            "The call never worked later in 4 tries",
            id="nothing-worked",
        ),
        pytest.param(
            (example_step("terminal", 20, 10), example_step("ls", 1, 1)),
            "The call worked later in 11 of 21 tries; no next step clearly helped",
            id="one-try-is-no-remedy",
        ),
        pytest.param(
            (
                example_step("browser_navigate", 17, 3, is_retry=True),
                example_step("terminal", 14, 12, command="curl"),
                example_step("read_file", 1, 1),
                example_step("web_search", 9, 0),
            ),
            "The call worked after: terminal curl 12 of 14 tries",
            id="only-what-helped-more-often-than-other-steps",
        ),
    ],
)
def test_what_helped_is_told_with_its_odds(steps: tuple[StepCount, ...], words: str) -> None:
    assert plain(helped(steps)) == words


def test_sure_step_is_the_surest_after_which_errors_were_recovered() -> None:
    often, surest = example_step("terminal", 20, 11), example_step("read_file", 40, 39)

    assert sure_step((often, surest)) == surest


def test_step_that_works_by_itself_is_no_remedy() -> None:
    read = example_step("read_file", 432, 431, recovered=86, recovery=proportion(86, 432))
    installed = example_step("terminal", 30, 23, command="pip install")

    assert sure_step((read, installed)) == installed


def test_remedy_is_better_than_what_else_was_tried() -> None:
    others = example_step("terminal", 400, 380)

    assert sure_step((example_step("read_file", 40, 30), others)) == others
    assert sure_step((example_step("read_file", 40, 30), example_step("terminal", 40, 32))) is None


@pytest.mark.parametrize(
    "step",
    [
        pytest.param(example_step("terminal", 120, 7), id="mostly-failed"),
        pytest.param(example_step("terminal", 4, 4), id="too-few"),
        pytest.param(example_step("terminal", 10, 7), id="may-be-less-than-half"),
    ],
)
def test_step_that_is_not_sure_to_work_is_not_named(step: StepCount) -> None:
    assert sure_step((step,)) is None


def test_issue_of_a_nameless_tool_says_so() -> None:
    assert plain(issue_title(example_issue(tool=None))).startswith("an unnamed tool: timeout")


_SEEN = "17 November 2026 to 21 November 2026"
_RECOVERED = "in 9 of 12 sessions, a call worked after the last error and an answer followed"


def test_issue_is_told_at_length() -> None:
    assert read(issue_lines(example_issue())) == [
        "It says Navigation timeout of <n> ms exceeded",
        "For example Navigation timeout of 30000 ms exceeded",
        "The call worked after: terminal curl 12 of 14 tries.",
        f"Seen {_SEEN}; {_RECOVERED}; by task type: research 8, debugging 4.",
        "Last in 20261121_220000_abcdef, 20261120_101500_0f1e2d",
    ]


def test_issue_of_one_day_names_the_day_once() -> None:
    at = datetime(2026, 11, 21, 22, 0, tzinfo=UTC)
    told = read(issue_lines(example_issue(first_seen=at, last_seen=at)))

    assert "Seen 21 November 2026; in 9 of 12 sessions" in "\n".join(told)


def test_issue_in_brief_says_what_helped() -> None:
    issue = example_issue(steps=(example_step("terminal", 40, 39, is_retry=True),))

    assert issue_in_brief(issue, within=" in 7 days").endswith(
        " in 7 days; the call worked after: a retry 39 of 40 tries"
    )


def test_example_that_is_the_signal_is_not_repeated() -> None:
    issue = example_issue(signal="timed out", example="timed out", task_types={}, latest=())

    assert [line.split(" ")[0] for line in read(issue_lines(issue))] == ["It", "The", "Seen"]


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        pytest.param(
            {},
            "Alert 7, critical: bad endings of task type debugging, 19 % (12–29 %) before, 48 % (28–68 %) since",
            id="stored",
        ),
        pytest.param({"number": None, "drops": ()}, "Alert, critical: ", id="not-stored-and-without-streams"),
    ],
)
def test_alert_says_what_stood_before_and_stands_since(changes: dict[str, Any], words: str) -> None:
    assert plain(alert_title(example_alert(**changes))) == words


def test_alert_is_told_with_its_cause() -> None:
    assert read(alert_lines(example_alert())) == [
        "Opened 20 November 2026, 14:32 UTC; it began about 18 November 2026, 06:00 UTC.",
        "The same tasks went worse: −4 points from the mix of task types, −25 points within task types.",
        (
            "What changed since: model hermes-5-mini: 4 % of sessions before, 62 % since; "
            "task type research: 21 % of sessions before, 12 % since."
        ),
        "Also affected: failed tool calls of tool terminal, 3.4 % (2.4–4.9 %) before, 18 % (11–28 %) since.",
        "Sessions that explain the alert best: 20261120_101500_0f1e2d, 20261119_173000_77aa01",
        "Still open.",
    ]


def test_alert_of_a_threshold_names_its_rule_and_what_became_of_it() -> None:
    alert = example_report().alerts[1]

    assert read(alert_lines(alert)) == [
        (
            "Opened 20 November 2026, 14:32 UTC; it began about 18 November 2026, 06:00 UTC. "
            "Threshold of your rules: efficiency_below."
        ),
        "Acknowledged 21 November 2026, 08:00 UTC.",
        "Note: the new browser tool; a fix is on its way",
        "Resolved 22 November 2026, 19:05 UTC.",
    ]


@pytest.mark.parametrize(
    ("cause", "words"),
    [
        pytest.param(DropCause.MIX, "Different tasks came in: ", id="mix"),
        pytest.param(DropCause.WORK, "The same tasks went worse: ", id="work"),
        pytest.param(DropCause.BOTH, "Different tasks came in, and the same tasks went worse: ", id="both"),
    ],
)
def test_alert_says_whether_the_work_changed_or_got_worse(cause: DropCause, words: str) -> None:
    split = Decomposition(mix=-0.1, work=-0.1, cause=cause)

    assert read(alert_lines(example_alert(decomposition=split)))[1].startswith(words)


def test_alert_without_streams_has_no_cause() -> None:
    assert not any("mix of task types" in line for line in read(alert_lines(example_alert(drops=()))))


@pytest.mark.parametrize(
    ("dimension", "words"),
    [
        pytest.param(Dimension.OVERALL, "response quality of all sessions", id="overall"),
        pytest.param(Dimension.TASK_TYPE, "response quality of task type x", id="task-type"),
        pytest.param(Dimension.TOOL, "response quality of tool x", id="tool"),
        pytest.param(Dimension.MODEL, "response quality of model x", id="model"),
        pytest.param(Dimension.PLATFORM, "response quality of platform x", id="platform"),
        pytest.param(Dimension.CATEGORY, "response quality of error x", id="category"),
    ],
)
def test_every_stream_has_a_name(dimension: Dimension, words: str) -> None:
    assert plain(stream_words(Stream(Metric.QUALITY, dimension, "x"))) == words


def test_long_lists_say_how_much_more_there_is() -> None:
    change = ShareChange(dimension=Dimension.MODEL, name="m", before=0.1, since=0.2)
    alert = example_alert(changes=(change,) * (MOST_CHANGES + 2))

    listed = next(line for line in read(alert_lines(alert)) if line.startswith("What changed"))

    assert listed.count("model m") == MOST_CHANGES
    assert listed.endswith("; and 2 more.")


def test_only_so_many_sessions_are_named() -> None:
    assert plain(examples("In", map(str, range(20)))[0]).count(",") == MOST_SESSIONS - 1


def test_days_of_an_issue_are_those_in_utc() -> None:
    late = datetime(2026, 11, 18, 0, 30, tzinfo=timezone(timedelta(hours=1)))
    issue = example_issue(first_seen=late, last_seen=late.astimezone(UTC))

    assert any("Seen 17 November 2026;" in line for line in read(issue_lines(issue)))


def test_the_stream_of_scheduled_runs_is_named_by_them() -> None:
    assert plain(stream_words(Stream(Metric.QUALITY, *SCHEDULED))) == "response quality of scheduled runs"


def test_the_cause_of_an_alert_is_told_in_a_line() -> None:
    changed = ShareChange(dimension=Dimension.MODEL, name="m", before=0.1, since=0.2)
    assert "What changed since: " in alert_cause(example_alert(changes=(changed,)))


def test_a_change_of_the_grader_that_moved_no_verdict_is_not_told() -> None:
    counts = VerdictCounts(done=0, not_done=14, unsure=63)
    for now, told in ((counts, 0), (None, 1), (VerdictCounts(done=1, not_done=14, unsure=62), 1)):
        change = GraderChange(at=datetime(2026, 11, 20, tzinfo=UTC), labels=0, why="new rules", before=counts, now=now)
        assert len(grader_sentences(example_report(grader_changes=(change,)))) == told
