from __future__ import annotations

import io
import json
import os
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import TextIO
from zoneinfo import ZoneInfo

import pytest
import structlog

from grader_daemon import log
from grader_daemon.system.open_files import is_journal


@pytest.fixture(autouse=True)
def clean(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Not under systemd, and structlog as it was afterwards."""
    for name in ("JOURNAL_STREAM", "NO_COLOR"):
        monkeypatch.delenv(name, raising=False)
    yield
    structlog.reset_defaults()


@pytest.fixture
def journal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[TextIO]:
    """A stream that the environment names as the journal's."""
    with (tmp_path / "journal").open("w+") as stream:
        status = os.fstat(stream.fileno())
        monkeypatch.setenv("JOURNAL_STREAM", f"{status.st_dev}:{status.st_ino}")
        yield stream


def written(stream: TextIO) -> str:
    stream.seek(0)
    return stream.read()


class Broken(io.StringIO):
    """A stream on a full disk."""

    def write(self, text: str) -> int:
        raise OSError(28, f"No space left on device for {len(text)} characters")

    def flush(self) -> None:
        raise OSError(28, "No space left on device")


@pytest.mark.parametrize(
    ("method", "prefix"),
    [
        pytest.param("debug", "<7>", id="debug"),
        pytest.param("info", "<6>", id="info"),
        pytest.param("warning", "<4>", id="warning"),
        pytest.param("error", "<3>", id="error"),
    ],
)
def test_in_the_journal_a_line_begins_with_its_priority(method: str, prefix: str, journal: TextIO) -> None:
    log.configure(level="debug", log_format="auto", stream=journal)
    getattr(structlog.get_logger(), method)("session.graded", session_id="a")
    line = written(journal)
    assert line.startswith(prefix + "{")
    assert json.loads(line.removeprefix(prefix))["level"] == method


@pytest.mark.parametrize(
    ("level", "written"),
    [
        pytest.param("debug", ["debug", "info", "warning", "error"], id="debug"),
        pytest.param("info", ["info", "warning", "error"], id="info"),
        pytest.param("warning", ["warning", "error"], id="warning"),
        pytest.param("error", ["error"], id="error"),
    ],
)
def test_lines_below_the_level_are_not_written(level: str, written: list[str]) -> None:
    stream = io.StringIO()
    log.configure(level=level, log_format="json", stream=stream)
    logger = structlog.get_logger()
    logger.debug("a.b")
    logger.info("a.b")
    logger.warning("a.b")
    logger.error("a.b")
    assert [json.loads(line)["level"] for line in stream.getvalue().splitlines()] == written


def test_elsewhere_a_line_is_plain_json_in_utc() -> None:
    stream = io.StringIO()
    log.configure(level="info", log_format="auto", stream=stream)
    structlog.get_logger().info("session.graded", path="/s/漢\n字", duration_ms=1.5)
    assert stream.getvalue().count("\n") == 1
    line = json.loads(stream.getvalue())
    assert (line["event"], line["path"], line["duration_ms"]) == ("session.graded", "/s/漢\n字", 1.5)
    assert line["timestamp"].endswith("Z")


def test_a_file_name_that_is_no_text_can_be_logged_as_json() -> None:
    stream = io.StringIO()
    log.configure(level="info", log_format="json", stream=stream)
    structlog.get_logger().info("session.skipped", path="/s/\udcff")
    assert json.loads(stream.getvalue())["event"] == "session.skipped"


def test_an_exception_stays_on_the_line() -> None:
    stream = io.StringIO()
    log.configure(level="info", log_format="json", stream=stream)
    try:
        int("a\nb")
    except ValueError:
        structlog.get_logger().exception("worker.failed")
    assert stream.getvalue().count("\n") == 1
    assert "ValueError: invalid literal" in json.loads(stream.getvalue())["exception"]


def test_json_has_the_sentence_and_not_what_was_asked_for() -> None:
    stream = io.StringIO()
    log.configure(level="info", log_format="json", stream=stream)
    structlog.get_logger().info(
        "session.graded", session_id="a", outcome="done", p_completed=0.81, task_type="debugging", task="Fix my will"
    )
    assert json.loads(stream.getvalue())["message"] == "done .81 debugging  a"
    assert "Fix" not in stream.getvalue()


def test_times_in_the_sentence_are_in_the_zone_that_is_set() -> None:
    stream = io.StringIO()
    log.configure(level="info", log_format="json", zone=ZoneInfo("Asia/Tokyo"), stream=stream)
    at = datetime(2026, 11, 22, 15, 30, tzinfo=UTC)
    structlog.get_logger().warning("session.retry_scheduled", path="/s/a", error="no JSON", retry_at=at)
    line = json.loads(stream.getvalue())
    assert line["message"].endswith("next try at 2026-11-23 00:30:00 JST")
    assert line["retry_at"] == "2026-11-22T15:30:00Z"


def test_a_notice_is_a_level_of_its_own_in_json() -> None:
    stream = io.StringIO()
    log.configure(level="info", log_format="json", stream=stream)
    structlog.get_logger().info("alert.resolved", level="notice", alert=3)
    line = json.loads(stream.getvalue())
    assert (line["level"], line["event"], line["alert"]) == ("notice", "alert.resolved", 3)


def test_a_notice_has_its_own_priority_in_the_journal(journal: TextIO) -> None:
    log.configure(level="info", log_format="auto", stream=journal)
    structlog.get_logger().info("alert.resolved", level="notice")
    assert written(journal).startswith("<5>{")


def test_lines_that_go_elsewhere_have_no_priority(journal: TextIO) -> None:
    """A shell that a service started inherits its environment."""
    assert is_journal(journal)
    stream = io.StringIO()
    log.configure(level="info", log_format="auto", stream=stream)
    structlog.get_logger().info("session.graded")
    assert stream.getvalue().startswith("{")


@pytest.mark.parametrize(
    ("level", "written"),
    [
        pytest.param("debug", True, id="debug"),
        pytest.param("info", True, id="info"),
        pytest.param("warning", False, id="warning"),
        pytest.param("error", False, id="error"),
    ],
)
def test_a_notice_is_below_a_warning(level: str, written: bool) -> None:
    stream = io.StringIO()
    log.configure(level=level, log_format="json", stream=stream)
    structlog.get_logger().info("alert.resolved", level="notice")
    assert bool(stream.getvalue()) is written


def test_a_log_that_cannot_be_written_stops_nobody() -> None:
    log.configure(level="info", log_format="json", stream=Broken())
    structlog.get_logger().error("store.failed")


def told(repeats: log.Repeats, **event: object) -> dict[str, object] | None:
    """What is written of an event."""
    try:
        return dict(repeats(None, "", {"level": "warning", "event": "watcher.degraded", **event}))
    except structlog.DropEvent:
        return None


def test_a_warning_that_repeats_is_counted_and_told_again_after_an_hour() -> None:
    now = [0.0]
    repeats = log.Repeats(clock=lambda: now[0])
    assert told(repeats, root="/a", attempts=1) is not None

    now[0] = 3599
    assert told(repeats, root="/a", attempts=2) is None
    assert told(repeats, root="/a", attempts=3) is None

    now[0] = 3600
    assert (told(repeats, root="/a", attempts=4) or {})["repeated"] == 2
    now[0] = 7200
    assert "repeated" not in (told(repeats, root="/a", attempts=5) or {})


@pytest.mark.parametrize(
    "other",
    [
        pytest.param({"root": "/b"}, id="of-another-place"),
        pytest.param({"root": "/a", "number": 2}, id="with-another-number"),
        pytest.param({"root": "/a", "event": "watcher.restarted"}, id="another-event"),
    ],
)
def test_another_warning_is_told(other: dict[str, object]) -> None:
    repeats = log.Repeats(clock=lambda: 0.0)
    assert told(repeats, root="/a") is not None
    assert told(repeats, **other) is not None


def test_what_is_no_trouble_is_always_told() -> None:
    repeats = log.Repeats(clock=lambda: 0.0)
    assert all(told(repeats, level="info", root="/a") for _ in range(3))


def test_a_trouble_that_begins_anew_is_told() -> None:
    repeats = log.Repeats(clock=lambda: 0.0)
    for _ in range(2):
        assert told(repeats, event="intake.paused", error="the disk is full") is not None
        assert told(repeats, event="intake.paused", error="the disk is full") is None
        assert told(repeats, event="intake.resumed", level="notice") is not None


def test_only_so_many_warnings_are_remembered() -> None:
    repeats = log.Repeats(clock=lambda: 0.0)
    for number in range(1001):
        assert told(repeats, path=f"/{number}") is not None
    assert told(repeats, path="/1000") is None
    assert told(repeats, path="/0") is not None
