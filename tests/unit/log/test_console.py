from __future__ import annotations

import io
import re
from collections.abc import Iterator
from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest

from grader_daemon.log.console import ConsoleLine

NOON = datetime(2026, 11, 22, 12, 26, 47, tzinfo=UTC).timestamp()
DAY_LATER = NOON + 86400
HEADING = "Sunday, 2026-11-22, times in UTC"
GRADED = {
    "event": "session.graded",
    "session_id": "20261122_1545",
    "outcome": "done",
    "p_completed": 0.81,
    "task_type": "debugging",
    "task": "Fix the date parser",
}
_STYLE = re.compile(r"\x1b\[[\d;]*m")


class Terminal(io.StringIO):
    """A stream that says it is a terminal, of this encoding."""

    def __init__(self, encoding: str = "utf-8") -> None:
        super().__init__()
        self._encoding = encoding

    @property
    def encoding(self) -> str:  # type: ignore[override]
        return self._encoding

    def isatty(self) -> bool:
        return True


@pytest.fixture(autouse=True)
def terminal(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """One of 80 columns, with colours."""
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.delenv("NO_COLOR", raising=False)
    return iter([None])


def shown(event: dict[str, object], *, stream: io.StringIO | None = None, level: str = "info") -> list[str]:
    """The lines of one event, below their heading, without colours."""
    line = ConsoleLine(stream or Terminal(), zone=ZoneInfo("UTC"))
    heading, *lines = _STYLE.sub("", line(None, "", {"timestamp": NOON, "level": level, **event})).split("\n")
    assert heading == HEADING
    return lines


@pytest.mark.parametrize(
    ("outcome", "line"),
    [
        pytest.param("done", "12:26:47 ✓ done .81 debugging  Fix the date parser  20261122_1545", id="done"),
        pytest.param("not_done", "12:26:47 ✗ not done .81 debugging  Fix the date parser  20261122_1545", id="not"),
        pytest.param("unsure", "12:26:47 ~ unsure .81 debugging  Fix the date parser  20261122_1545", id="unsure"),
        pytest.param("no_answer", "12:26:47 – no answer .81 debugging  Fix the date parser  20261122_1545", id="none"),
    ],
)
def test_a_session_is_one_line(outcome: str, line: str) -> None:
    assert shown({**GRADED, "outcome": outcome}) == [line]


def test_a_task_is_cut_to_the_width_of_the_terminal() -> None:
    """12:26:47 ✓ done .81 debugging (29) and 2 blanks, 2 blanks and the id (15): of 80 columns 33 are left."""
    [line] = shown({**GRADED, "task": "Fix the date parser " * 9})

    assert line == "12:26:47 ✓ done .81 debugging  Fix the date parser Fix the date…  20261122_1545"
    assert len(line) <= 80


def test_a_task_without_room_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "50")

    assert shown(GRADED) == ["12:26:47 ✓ done .81 debugging  20261122_1545"]


def test_a_long_id_gives_way_to_the_task() -> None:
    """Of a UUID 13 characters are left: a whole one has 36, which leaves 11 columns for the task."""
    [line] = shown({**GRADED, "session_id": "01a203da-5afa-7301-b4ad-eb855870652d"})

    assert line == "12:26:47 ✓ done .81 debugging  Fix the date parser  01a203da-5afa"


def test_only_who_sits_at_a_terminal_sees_what_was_asked_for() -> None:
    assert shown(GRADED, stream=io.StringIO()) == ["12:26:47 ✓ done .81 debugging  20261122_1545"]


def test_a_long_sentence_goes_on_below_itself_and_breaks_no_path() -> None:
    path = f"/{'long' * 20}/session_a.json"

    first, *others = shown({"event": "session.unchanged", "path": path, "happened": "it is gone " * 8})

    assert first == f"12:26:47   {path}:"
    assert [line[:11] for line in others] == [" " * 11] * 2
    assert " ".join(line[11:] for line in others) == ("it is gone " * 8).rstrip()
    assert all(len(line) <= 80 for line in others)


@pytest.mark.parametrize(
    ("level", "line"),
    [
        pytest.param("debug", "12:26:47   a.b", id="debug"),
        pytest.param("info", "12:26:47   a.b", id="info"),
        pytest.param("notice", "12:26:47   a.b", id="notice"),
        pytest.param("warning", "12:26:47 ! warning: a.b", id="warning"),
        pytest.param("error", "12:26:47 ! error: a.b", id="error"),
    ],
)
def test_trouble_is_named_without_colours_too(level: str, line: str) -> None:
    assert shown({"event": "a.b"}, level=level) == [line]


def test_a_traceback_follows_its_line_without_escapes() -> None:
    lines = shown({"event": "a.b", "exception": "Traceback:\n  x\x1b[31m"}, level="error")

    assert lines == ["12:26:47 ! error: a.b", "Traceback:", "  x\\x1b[31m"]


def test_day_and_zone_are_told_whenever_they_change() -> None:
    line = ConsoleLine(io.StringIO(), zone=ZoneInfo("Asia/Tokyo"))

    told = [line(None, "", {"timestamp": at, "level": "info", "event": "a.b"}) for at in (NOON, NOON + 1, DAY_LATER)]

    assert told == [
        "Sunday, 2026-11-22, times in JST\n21:26:47   a.b",
        "21:26:48   a.b",
        "Monday, 2026-11-23, times in JST\n21:26:47   a.b",
    ]


@pytest.mark.parametrize(
    ("value", "text"),
    [
        pytest.param("a\x1b[31mb", "a\\x1b[31mb", id="escape-sequence"),
        pytest.param("a\nb", "a\\nb", id="line-end"),
        pytest.param("a\x9bb", "a\\x9bb", id="eight-bit-escape"),
        pytest.param("a\u202eb", "a\\u202eb", id="direction-mark"),
        pytest.param("a\udcffb", "a\\udcffb", id="no-text"),
        pytest.param("Größe 漢字", "Größe 漢字", id="letters"),
    ],
)
@pytest.mark.parametrize("key", ["path", "task"])
def test_a_terminal_sees_no_raw_control_characters(key: str, value: str, text: str) -> None:
    event = {"event": "session.skipped", "path": "/a", "reason": "copy"} if key == "path" else dict(GRADED)

    [line] = shown({**event, key: value})

    assert text in line
    assert line.isprintable()


@pytest.mark.parametrize(
    ("stream", "variables", "colored"),
    [
        pytest.param(Terminal(), {}, True, id="terminal"),
        pytest.param(io.StringIO(), {}, False, id="file"),
        pytest.param(Terminal(), {"NO_COLOR": "1"}, False, id="no-color"),
        pytest.param(Terminal(), {"TERM": "dumb"}, False, id="a-terminal-without-colours"),
    ],
)
def test_only_a_terminal_that_wants_colours_has_them(
    monkeypatch: pytest.MonkeyPatch, stream: io.StringIO, variables: dict[str, str], colored: bool
) -> None:
    for name, value in variables.items():
        monkeypatch.setenv(name, value)

    text = ConsoleLine(stream, zone=None)(None, "", {"timestamp": NOON, "level": "warning", **GRADED})

    assert ("\x1b[" in text) is colored


def test_a_terminal_that_knows_no_more_than_ascii_gets_other_marks() -> None:
    [line] = shown({**GRADED, "task": "Fix the date parser " * 9}, stream=Terminal("ascii"))

    assert line.startswith("12:26:47 + done")
    assert line.isascii()
    assert len(line) <= 80
