"""IngestResult writes of a real agent, played back into a running daemon: the grades must be those of the final files.

The traces are inotify logs of Hermes at work. Each is played step by step as it was seen (a temporary file is created,
grows, is closed and renamed; request dumps are written in place), all of them side by side, with the time compressed.
"""

from __future__ import annotations

import json
import os
import re
import threading
from collections.abc import Callable, Iterator
from functools import partial
from itertools import count
from pathlib import Path
from time import monotonic
from typing import Any, BinaryIO, NamedTuple

import pytest

from grader_daemon.sources.file_reading import stamp_of
from tests.e2e.daemon_process import DATABASE, DaemonProcess, Row, query, run_command
from tests.needs import require
from tests.waiting import wait_until

SAMPLES = Path(__file__).parents[2] / ".." / "shared" / "data" / "hermes"
SCENARIOS = sorted(trace.stem for trace in (SAMPLES / "traces").glob("*.inotify") if (SAMPLES / trace.stem).is_dir())
SECONDS_PER_SECOND = 0.02
"""What a second of the trace is in the replay."""
_LINE = re.compile(r"(\d\d):(\d\d):(\d\d) ([A-Z_,]+) (.+)")
_TEMPORARY = re.compile(r"\.(session_.+)_\w{8}\.tmp")


class Step(NamedTuple):
    """Something that the agent did, and when, in seconds of the replay."""

    at: float
    act: Callable[[], None]


class Graded(NamedTuple):
    """Two databases of the same files: after the replay, and after a direct ingest."""

    root: Path
    replayed: Path
    direct: Path
    log: DaemonProcess


class _Replay:
    """The writes of one scenario, into a folder."""

    def __init__(self, scenario: str, folder: Path) -> None:
        self._folder = folder
        self._whole = {file.name: file.read_bytes() for file in (SAMPLES / scenario).iterdir() if file.is_file()}
        self._events = [
            (int(hour) * 3600 + int(minute) * 60 + int(second), event, os.path.basename(path.strip()))
            for hour, minute, second, event, path in _LINE.findall(
                (SAMPLES / "traces" / f"{scenario}.inotify").read_text()
            )
        ]
        self._open: dict[str, BinaryIO] = {}
        self._left: dict[str, list[bytes]] = {}
        self._versions = self._plan_versions()

    def steps(self) -> Iterator[Step]:
        """Give what happened, in order."""
        yield Step(0.0, partial(self._folder.mkdir, parents=True))
        start = self._events[0][0]
        for position, (second, event, name) in enumerate(self._events):
            act = self._act(position, event, name)
            if act is not None:
                yield Step((second - start) * SECONDS_PER_SECOND, act)

    def _act(self, position: int, event: str, name: str) -> Callable[[], None] | None:
        final = _final_name(name)
        if final not in self._whole:
            return None
        match event.partition(",")[0]:
            case "CREATE":
                return partial(self._create, position, name)
            case "MODIFY":
                return partial(self._modify, name)
            case "CLOSE_WRITE":
                return partial(self._close, name)
            case "MOVED_TO":
                return partial(self._move, position, name)
        return None

    def _create(self, position: int, name: str) -> None:
        pieces = max(1, self._modifications(position, name))
        whole = next(self._versions[_final_name(name)])
        size = -(-len(whole) // pieces) or 1
        self._left[name] = [whole[start : start + size] for start in range(0, len(whole), size)]
        self._open[name] = (self._folder / name).open("wb", buffering=0)

    def _modifications(self, position: int, name: str) -> int:
        """How many writes the trace has for this file before it is closed."""
        following = self._events[position + 1 :]
        closed = next((at for at, (_, event, of) in enumerate(following) if of == name and "CLOSE" in event), None)
        return sum(of == name and event == "MODIFY" for _, event, of in following[:closed])

    def _modify(self, name: str) -> None:
        if name in self._open and self._left[name]:
            self._open[name].write(self._left[name].pop(0))

    def _close(self, name: str) -> None:
        if name in self._open:
            while self._left[name]:
                self._modify(name)
            self._open.pop(name).close()

    def _move(self, position: int, name: str) -> None:
        written = [
            of
            for _, event, of in self._events[:position]
            if _final_name(of) == name and of != name and "CLOSE" in event
        ]
        if written and (self._folder / written[-1]).exists():
            os.replace(self._folder / written[-1], self._folder / name)

    def _plan_versions(self) -> dict[str, Iterator[bytes]]:
        return {
            name: iter(
                _versions(whole, sum(event == "CREATE" and _final_name(of) == name for _, event, of in self._events))
            )
            for name, whole in self._whole.items()
        }


def _final_name(name: str) -> str:
    """Under which name the content of a temporary file ends up."""
    temporary = _TEMPORARY.fullmatch(name)
    return (
        f"{temporary.group(1)}.json" if temporary else re.sub(r"^\.(request_dump_.+?)_?\w{8}\.tmp$", r"\1.json", name)
    )


def _versions(whole: bytes, rewrites: int) -> list[bytes]:
    """What a file held after each rewrite: the conversation up to the end of one tool round more, at last all of it."""
    document: dict[str, Any] = json.loads(whole)
    messages = document.get("messages")
    if not messages or rewrites == 0:
        return [whole] * rewrites
    ends = [
        index
        for index in range(1, len(messages))
        if messages[index - 1]["role"] == "tool" and messages[index]["role"] != "tool"
    ]
    ends = ends[: rewrites - 1] or [1]
    ends = [ends[0]] * (rewrites - 1 - len(ends)) + ends
    parts = [document | {"message_count": end, "messages": messages[:end]} for end in ends[: rewrites - 1]]
    return [*(json.dumps(part, indent=2, ensure_ascii=False).encode() for part in parts), whole]


def _play(replays: list[_Replay]) -> None:
    """Do all steps of all scenarios, in the order of their times."""
    order = count()
    steps = sorted(
        ((step.at, next(order), step.act) for replay in replays for step in replay.steps()), key=lambda s: s[:2]
    )
    pace = threading.Event()
    began = monotonic()
    for at, _, act in steps:
        pace.wait(max(0.0, began + at - monotonic()))
        act()


@pytest.fixture(scope="module")
def graded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Graded]:
    """All scenarios replayed into one daemon, and graded once more directly."""
    require(SCENARIOS, "the folder of recorded sessions")
    home = tmp_path_factory.mktemp("replays")
    root = home / ".timmy"
    root.mkdir()
    daemon = DaemonProcess(home, settings={"quiet_seconds": 0.2, "max_wait_seconds": 1})
    try:
        daemon.wait_for_event("reconcile.finished")
        _play([_Replay(scenario, root / scenario / "sessions") for scenario in SCENARIOS])
        files = [file for file in root.glob("*/sessions/*.json") if not file.name.startswith(".")]
        wait_until(lambda: all(_is_settled(daemon, file) for file in files), "every file to be settled")
        assert daemon.stop()[0] == 0
        other = home / "other_home"
        ended = run_command(other, "grade", root)
        assert ended.returncode == 0, ended.stderr
        yield Graded(root, daemon.database, other / DATABASE, daemon)
    finally:
        daemon.end()


def _is_settled(daemon: DaemonProcess, file: Path) -> bool:
    row = daemon.ledger(file)
    return row is not None and bool(row["stamp"] == stamp_of(file.stat()))


def test_every_trace_of_writes_has_its_files() -> None:
    require(SCENARIOS, "the folder of recorded sessions")
    traces = list((SAMPLES / "traces").glob("*.inotify"))

    assert traces
    assert [trace.stem for trace in traces if "MOVED_TO" in trace.read_text() and trace.stem not in SCENARIOS] == []


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_a_replayed_session_is_graded_like_its_final_file(graded: Graded, scenario: str) -> None:
    folder = f"{graded.root / scenario}/%"

    replayed, direct = (_outcome(database, folder) for database in (graded.replayed, graded.direct))

    assert replayed["files"], "nothing was seen"
    assert replayed == direct


def test_every_conversation_has_one_grade(graded: Graded) -> None:
    by_folder = query(
        graded.replayed,
        "SELECT path, state, reason FROM session_files ORDER BY path",
    )
    fate = {os.path.relpath(row["path"], graded.root): (row["state"], row["reason"]) for row in by_folder}
    chain = [value for path, value in fate.items() if path.startswith("v13_compress/")]

    assert sorted(chain) == [("graded", None)] + [("skipped", "superseded")] * 13
    assert fate["v13_library/sessions/session_20261121_221523_c8c017.json"] == ("skipped", "review_fork")
    assert fate["v13_plain/sessions/session_20261121_221212_3240b3.json"] == ("skipped", "copy")
    assert fate["v13_turn2_resumed/sessions/session_20261121_221212_3240b3.json"] == ("graded", None)
    dumps = {value for path, value in fate.items() if "request_dump" in path}
    assert dumps == {("skipped", "request_dump")}
    assert len(query(graded.replayed, "SELECT 1 FROM session_grades")) == sum(
        state == "graded" for state, _ in fate.values()
    )


def test_no_rewrite_of_the_replay_was_taken_for_a_broken_file(graded: Graded) -> None:
    assert graded.log.events("session.retry_scheduled") == []
    assert graded.log.events("session.quarantined") == []
    assert graded.log.strange_lines() == []


def test_a_burst_of_rewrites_is_graded_a_few_times_only(graded: Graded) -> None:
    path = graded.root / "v13_long60" / "sessions" / "session_20261121_221026_fafb02.json"

    row = query(graded.replayed, "SELECT grades FROM session_files WHERE path = ?", str(path))[0]

    assert 1 <= row["grades"] <= 30, "61 rewrites, in two seconds where nothing else is to be done"


def _outcome(database: Path, folder: str) -> dict[str, list[Row]]:
    """Everything that the database knows of the files of a folder, but for when and how often it was found out."""
    files = (
        "SELECT source, path, key, stamp, written_ns, digest, session_id, state, reason, attempts, retry_at, last_error"
        " FROM session_files WHERE path LIKE ? ORDER BY path"
    )
    grades = "SELECT * FROM session_grades WHERE session_file LIKE ? ORDER BY session_id"
    ids = "SELECT session_id FROM session_grades WHERE session_file LIKE ?"
    details = f"SELECT * FROM session_details WHERE session_id IN ({ids}) ORDER BY session_id"
    failures = f"SELECT * FROM session_failures WHERE session_id IN ({ids}) ORDER BY session_id, message_index"
    found = {
        name: query(database, sql, folder)
        for name, sql in {"files": files, "grades": grades, "details": details, "failures": failures}.items()
    }
    for row in found["grades"]:
        del row["id"], row["graded_at"]
    for row in found["details"]:
        del row["loop_told"], row["watched"]
    return found


def test_the_rollups_of_a_replay_are_those_of_the_final_files(graded: Graded) -> None:
    for table in ("daily_rollups", "monthly_rollups", "daily_steps", "monthly_steps", "issue_days", "issue_steps"):
        replayed, direct = (query(database, f"SELECT * FROM {table}") for database in (graded.replayed, graded.direct))

        assert replayed
        assert replayed == direct, table
