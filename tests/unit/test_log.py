from __future__ import annotations

import io
import json
from collections.abc import Iterator

import pytest
import structlog

from grader_daemon import log


@pytest.fixture(autouse=True)
def clean(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Not under systemd, and structlog as it was afterwards."""
    for name in ("JOURNAL_STREAM", "INVOCATION_ID", "NO_COLOR"):
        monkeypatch.delenv(name, raising=False)
    yield
    structlog.reset_defaults()


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("method", "prefix"),
    [
        pytest.param("debug", "<7>", id="debug"),
        pytest.param("info", "<6>", id="info"),
        pytest.param("warning", "<4>", id="warning"),
        pytest.param("error", "<3>", id="error"),
    ],
)
@pytest.mark.parametrize("variable", ["JOURNAL_STREAM", "INVOCATION_ID"])
def test_under_systemd_a_line_begins_with_its_priority(
    method: str, prefix: str, variable: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(variable, "8:1")
    stream = io.StringIO()
    log.configure(level="debug", log_format="auto", stream=stream)
    getattr(structlog.get_logger(), method)("session.graded", session_id="a")
    line = stream.getvalue()
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


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        pytest.param("a\x1b[31mb", "a\\x1b[31mb", id="escape-sequence"),
        pytest.param("a\nb", "a\\nb", id="line-end"),
        pytest.param("a\x9bb", "a\\x9bb", id="eight-bit-escape"),
        pytest.param("a\u202eb", "a\\u202eb", id="direction-mark"),
        pytest.param("a\udcffb", "a\\udcffb", id="no-text"),
        pytest.param("Größe 漢字", "Größe 漢字", id="letters"),
    ],
)
def test_a_console_sees_no_raw_control_characters(value: str, shown: str) -> None:
    stream = io.StringIO()
    log.configure(level="info", log_format="console", stream=stream)
    structlog.get_logger().info("session.graded", path=value)
    line = stream.getvalue()
    assert shown in line
    assert line.removesuffix("\n").isprintable()


@pytest.mark.parametrize(
    ("stream", "coloured"),
    [pytest.param(Terminal(), True, id="terminal"), pytest.param(io.StringIO(), False, id="file")],
)
def test_only_a_terminal_has_colours(stream: io.StringIO, coloured: bool) -> None:
    log.configure(level="info", log_format="console", stream=stream)
    structlog.get_logger().info("session.graded")
    assert ("\x1b[" in stream.getvalue()) is coloured


def test_no_color_is_respected(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    stream = Terminal()
    log.configure(level="info", log_format="auto", stream=stream)
    structlog.get_logger().info("session.graded")
    assert stream.getvalue().removesuffix("\n").isprintable()


def test_a_notice_is_a_level_of_its_own_in_json() -> None:
    stream = io.StringIO()
    log.configure(level="info", log_format="json", stream=stream)
    structlog.get_logger().info("alert.resolved", level="notice", alert=3)
    line = json.loads(stream.getvalue())
    assert (line["level"], line["event"], line["alert"]) == ("notice", "alert.resolved", 3)


def test_a_notice_has_its_own_priority_under_systemd(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JOURNAL_STREAM", "8:1")
    stream = io.StringIO()
    log.configure(level="info", log_format="auto", stream=stream)
    structlog.get_logger().info("alert.resolved", level="notice")
    assert stream.getvalue().startswith("<5>{")


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


@pytest.mark.parametrize("stream", [pytest.param(Terminal(), id="terminal"), pytest.param(io.StringIO(), id="file")])
def test_a_notice_is_named_on_a_console(stream: io.StringIO) -> None:
    log.configure(level="info", log_format="console", stream=stream)
    structlog.get_logger().info("alert.resolved", level="notice")
    assert "notice" in stream.getvalue()
