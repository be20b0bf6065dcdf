from __future__ import annotations

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grader_daemon.adapters import NOT_PROVIDED
from grader_daemon.log.events import EVENTS, sentence
from tests.tables import for_each

AT = datetime(2026, 11, 22, 15, 26, 59, 491265, tzinfo=UTC)

ALERT = {
    "alert": 1,
    "title": "Alert 1, critical: completion rate of all sessions, 94 % (89–97 %) before, 41 % (30–53 %) since",
    "began_at": AT,
    "cause": "The same tasks went worse.",
}


@for_each(
    ("event", "said"),
    [
        pytest.param(
            {
                "event": "session.graded",
                "session_id": "20261122_1545",
                "outcome": "done",
                "p_completed": 0.81,
                "task_type": "debugging",
                "task": "Fix the date parser",
                "path": "/s/x",
            },
            "done .81 debugging  Fix the date parser  20261122_1545",
            id="a-grade",
        ),
        pytest.param(
            {"event": "session.graded", "session_id": "a", "outcome": "not_done", "task_type": "general"},
            "not done general  a",
            id="a-grade-without-probability-and-task",
        ),
        pytest.param(
            {
                "event": "session.graded",
                "session_id": "a",
                "outcome": "unsure",
                "state": "open",
                "p_completed": 0.01,
                "task_type": "general",
            },
            "unsure (open) general  a",
            id="what-is-open-is-not-judged",
        ),
        pytest.param(
            {"event": "session.skipped", "path": "/s/a.json", "reason": "review_fork", "session_id": None},
            "/s/a.json: skipped, review fork",
            id="a-skipped-file",
        ),
        pytest.param(
            {"event": "session.skipped", "session_id": "a", "reason": "superseded", "by": "b"},
            "a is replaced by b",
            id="a-replaced-session",
        ),
        pytest.param(
            {
                "event": "source.unknown_kinds",
                "source": "codex",
                "version": "1.0",
                "kinds": 2,
                "broken": 1,
                "path": "/a",
            },
            "codex 1.0: 2 unknown kinds of line and 1 broken line skipped, first in /a",
            id="lines-that-nobody-knows",
        ),
        pytest.param(
            {
                "event": "source.newer_version",
                "source": "codex",
                "version": "1.2",
                "tried": "1.1",
                "kinds": 0,
                "broken": 0,
                "path": "/a",
            },
            "codex 1.2 is newer than 1.1, the newest tested; no unknown lines so far, first in /a",
            id="a-version-newer-than-any-tried",
        ),
        pytest.param(
            {"event": "source.unreadable_version", "source": "codex", "version": None, "path": "/a"},
            "cannot read sessions of codex, so they have no grades; first in /a",
            id="a-version-that-cannot-be-read",
        ),
        pytest.param(
            {"event": "session.retry_scheduled", "path": "/s/a", "error": "no JSON", "attempts": 1, "retry_at": AT},
            "/s/a: no JSON; next try at 2026-11-22 15:26:59 UTC",
            id="a-time-is-readable",
        ),
        pytest.param(
            {"event": "session.quarantined", "path": "/s/a", "error": "no JSON", "attempts": 3},
            "/s/a: no JSON; given up until it changes",
            id="a-file-given-up",
        ),
        pytest.param(
            {"event": "session.loop_risk", "session_id": "a", "path": "/s/a", "errors": 5, "api_calls": 60},
            "a may be in a loop: 5 errors, 60 model messages",
            id="a-loop",
        ),
        pytest.param(
            {
                "event": "agent.ungraded",
                "agent": "codex",
                "title": "Codex",
                "path": "/h",
                "sessions": 412,
                "is_more": True,
                "fix": "grader-daemon sources enable codex",
            },
            "Codex: more than 412 sessions in /h, not graded: grader-daemon sources enable codex",
            id="an-agent-that-is-not-graded",
        ),
        pytest.param(
            {"event": "alert.opened", **ALERT},
            "Alert 1, critical: completion rate of all sessions, 94 % (89–97 %) before, 41 % (30–53 %) since,"
            " began 2026-11-22 15:26:59 UTC. The same tasks went worse. See grader-daemon alerts show 1",
            id="an-alert",
        ),
        pytest.param(
            {"event": "alert.resolved", **ALERT, "title": "Alert 1", "cause": None},
            "resolved: Alert 1, began 2026-11-22 15:26:59 UTC. See grader-daemon alerts show 1",
            id="an-alert-without-a-known-cause",
        ),
        pytest.param(
            {"event": "service.started", "pid": 7, "roots": ["/a", "/b"], "database": "/g.db", "rules_version": "1"},
            "watching /a, /b; writing grades to /g.db",
            id="a-start",
        ),
        pytest.param(
            {"event": "service.stopped", "waiting": 0, "finished": True}, "stopped; nothing waits", id="a-stop"
        ),
        pytest.param(
            {"event": "service.stopped", "waiting": 0, "finished": True, "compared": False},
            "stopped; the next start scans the remaining folders",
            id="a-stop-in-the-first-comparison",
        ),
        pytest.param(
            {"event": "service.stopped", "waiting": 12, "finished": False},
            "stopped; 12 files wait on disk for the next start; the next start grades the interrupted sessions",
            id="a-stop-with-work-left",
        ),
        pytest.param(
            {"event": "run.finished", "seconds": 4.1, "graded": 136, "done": 71, "not_done": 33, "open": 32},
            "136 sessions graded in 4.1 s: 71 done, 33 not done, 32 open",
            id="totals",
        ),
        pytest.param(
            {"event": "run.finished", "seconds": 0.4, "skipped": 2, "quarantined": 1},
            "0 sessions graded in 0.4 s; 2 skipped; 1 given up: grader-daemon status",
            id="totals-without-a-grade",
        ),
        pytest.param(
            {
                "event": "reconcile.finished",
                "folders": 1,
                "files": 1360,
                "missing": 3,
                "unreadable": (),
                "seconds": 1.0,
                "cpu_seconds": 4.157e-05,
            },
            "checked 1,360 session files in 1 folder: 3 new or changed",
            id="a-comparison",
        ),
        pytest.param(
            {"event": "reconcile.finished", "folders": 2, "files": 1, "missing": 0, "unreadable": ("/a", "/b")},
            "checked 1 session file in 2 folders: 0 new or changed; cannot read /a, /b",
            id="a-comparison-with-closed-folders",
        ),
        pytest.param(
            {"event": "watcher.degraded", "root": "/a", "reason": "the folder does not exist", "scan_seconds": 2.0},
            "cannot watch /a; scanning every 2 s instead: the folder does not exist",
            id="a-folder-that-is-not-watched",
        ),
        pytest.param(
            {"event": "watcher.degraded", "reason": "2 of 3 folders are watched", "scan_seconds": 2.0},
            "cannot watch some folders; scanning every 2 s instead: 2 of 3 folders are watched",
            id="some-folders-that-are-not-watched",
        ),
        pytest.param(
            {"event": "intake.behind", "waiting": 1178, "oldest_seconds": 360.4},
            "behind: 1,178 files wait to be graded, the oldest for 6.01 min",
            id="behind",
        ),
        pytest.param(
            {"event": "backlog.found", "files": 10_000, "is_more": False},
            "10,000 files found; grading starts, new sessions go first",
            id="a-first-start",
        ),
        pytest.param(
            {"event": "backlog.found", "files": 100_000, "is_more": True},
            "at least 100,000 files found; grading starts, new sessions go first",
            id="a-first-start-with-more-than-are-counted",
        ),
        pytest.param(
            {"event": "backlog.progress", "examined": 1792, "files": 3000, "per_second": 69, "seconds_left": 18},
            "1,792 of 3,000 files done, 69 per second, 18 s left",
            id="progress",
        ),
        pytest.param(
            {"event": "backlog.progress", "examined": 9, "files": 100_000, "per_second": 69, "seconds_left": None},
            "9 of 100,000 files done, 69 per second",
            id="progress-that-nobody-knows-the-end-of",
        ),
        pytest.param(
            {"event": "backlog.progress", "examined": 3000, "files": 3000, "per_second": 69, "seconds_left": 0},
            "3,000 of 3,000 files done, 69 per second, finished",
            id="the-end-of-progress",
        ),
        pytest.param(
            {"event": "job.failed", "job": "weekly", "error": "no", "failures": 3, "retry_seconds": 14400.0},
            "weekly: no; next try in 4 h",
            id="a-failed-job",
        ),
        pytest.param(
            {"event": "worker.failed", "path": "/s/a", "exception": "Traceback\n…"},
            "a bug in grader-daemon (/s/a); see the traceback",
            id="a-bug-of-ours",
        ),
        pytest.param(
            {"event": "worker.failed", "paths": 3},
            "a bug in grader-daemon; see the traceback",
            id="a-bug-of-ours-without-a-file",
        ),
        pytest.param(
            {"event": "calibration.updated", "before": "p1.rules", "now": "p1-x.model", "labels": 120},
            "the model, learned from 120 labels, gives verdicts instead of the set of rules now;"
            " earlier verdicts are updated",
            id="another-policy",
        ),
        pytest.param(
            {"event": "calibration.updated", "before": None, "now": "p1.model", "labels": 0},
            "the model gives verdicts now; earlier verdicts are updated",
            id="the-first-policy",
        ),
        pytest.param(
            {"event": "calibration.updated", "before": "p1.model", "now": "p2.model", "labels": 70},
            "another model, learned from 70 labels, gives verdicts now; earlier verdicts are updated",
            id="another-model",
        ),
        pytest.param(
            {"event": "calibration.updated", "before": "p2.model", "now": "p3.rules", "labels": 0},
            "the set of rules gives verdicts instead of the model now; earlier verdicts are updated",
            id="the-rules-again",
        ),
        pytest.param(
            {"event": "report.written", "week": "2026-W47", "revision": 1, "sessions": 71},
            "wrote the report of 2026-W47, 71 sessions: grader-daemon report --week 2026-W47",
            id="a-report",
        ),
        pytest.param(
            {"event": "something.new", "level": "info", "n": 0.1234567, "on": True, "at": None, "of": []},
            "something.new: n 0.123, on yes, at -, of none",
            id="an-event-without-a-sentence",
        ),
        pytest.param({"event": "something.new"}, "something.new", id="an-event-without-keys"),
        pytest.param(
            {"event": "intake.paused", "error": "the disk is full", "retry_seconds": 1.0, "repeated": 3},
            "cannot save grades, sessions wait on disk: the disk is full; retrying (repeated 3 times)",
            id="a-trouble-that-repeats",
        ),
        pytest.param(
            {"event": "source.failed", "source": "codex", "error": "ValueError: no", "retry_seconds": 5.0},
            "codex: ValueError: no; a bug in grader-daemon; other agents go on, next try in 5 s",
            id="a-source-of-ours",
        ),
        pytest.param(
            {"event": "source.failed", "source": "acme", "error": "AdapterError: acme 1.0: no", "retry_seconds": 5.0},
            "acme: acme 1.0: no; a bug in its adapter; other agents go on, next try in 5 s",
            id="a-source-of-an-adapter",
        ),
        pytest.param(
            {"event": "source.failed", "source": "a", "error": f"AdapterError: {NOT_PROVIDED}", "retry_seconds": 5.0},
            f"a: {NOT_PROVIDED}; other agents go on, next try in 5 s",
            id="a-source-of-an-adapter-that-is-not-installed",
        ),
        pytest.param({"event": "job.failed"}, "?: ?; next try in ?", id="keys-that-are-missing"),
    ],
)
def test_an_event_is_a_sentence(event: dict[str, object], said: str) -> None:
    assert sentence(event, ZoneInfo("UTC")) == said


def test_times_are_where_the_person_lives() -> None:
    """15:26 in UTC is 00:26 on the next day in Tokyo, nine hours ahead."""
    event = {"event": "session.retry_scheduled", "path": "/s/a", "error": "no JSON", "retry_at": AT}

    assert sentence(event, ZoneInfo("Asia/Tokyo")).endswith("next try at 2026-11-23 00:26:59 JST")


def test_what_lies_at_home_is_named_as_a_shell_takes_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/me")

    assert (
        sentence({"event": "session.unchanged", "path": "/home/me/a", "happened": "vanished"}, None) == "~/a: vanished"
    )
    assert sentence({"event": "session.unchanged", "path": "/home/meg/a", "happened": "x"}, None) == "/home/meg/a: x"


VALUES = st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.lists(st.text()) | st.just(AT)


KEYS = (
    "path",
    "session_id",
    "error",
    "task",
    "outcome",
    "p_completed",
    "retry_at",
    "roots",
    "seconds",
    "reason",
    "unreadable",
    "waiting",
    "finished",
    "cause",
    "title",
    "by",
    "root",
    "retry_seconds",
    "state",
    "repeated",
)


@given(st.sampled_from([*EVENTS, "something.new"]), st.data())
def test_any_values_make_one_printable_line(name: str, data: st.DataObject) -> None:
    """A log line must never be the reason why something fails, nor a way into a terminal."""
    event = data.draw(st.dictionaries(st.sampled_from(KEYS), VALUES))

    assert sentence({**event, "event": name}, None).isprintable()
