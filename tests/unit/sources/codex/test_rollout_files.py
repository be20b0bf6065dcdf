from __future__ import annotations

import json
from pathlib import Path

import pytest

from grader_daemon.domain.limits import Limits
from grader_daemon.domain.session import Session, Skipped, SkipReason
from grader_daemon.domain.unit import Unit
from grader_daemon.sources.codex.rollout_files import CodexRollouts
from grader_daemon.sources.protocol import Read, UnknownKinds

THREAD = "01a203da-679e-78d3-95e1-a31d99fc3840"
NAME = f"rollout-2026-11-22T15-22-54-{THREAD}.jsonl"
META = {
    "timestamp": "2026-11-22T15:22:54Z",
    "type": "session_meta",
    "payload": {"id": THREAD, "cli_version": "0.200.0"},
}
ASKED = {
    "timestamp": "2026-11-22T15:22:55Z",
    "type": "response_item",
    "payload": {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Go"}]},
}
RENAMED = {"timestamp": "2026-11-22T15:22:56Z", "type": "event_msg", "payload": {"type": "turn_done"}}


def write(folder: Path, *rows: object, name: str = NAME) -> Path:
    path = folder / name
    path.write_text("".join(json.dumps(row, separators=(",", ":")) + "\n" for row in rows))
    return path


def read(path: Path) -> Read:
    source = CodexRollouts([str(path.parent)], limits=Limits())
    return source.read(source.look(Unit("codex", str(path))))


def test_a_rollout_is_a_session(tmp_path: Path) -> None:
    session = read(write(tmp_path, META, ASKED)).session

    assert isinstance(session, Session)
    assert (session.session_id, session.named_after_id, session.format) == (THREAD, True, "codex")


def test_unknown_kinds_of_lines_are_told_with_the_version_that_wrote_them(tmp_path: Path) -> None:
    found = read(write(tmp_path, META, ASKED, RENAMED))

    assert found.unknown == UnknownKinds("0.200.0", ("event_msg/turn_done",))


@pytest.mark.parametrize(
    ("rows", "reason"),
    [
        pytest.param([META], SkipReason.NOT_A_SESSION, id="nothing-was-said"),
        pytest.param([META, RENAMED], SkipReason.UNREADABLE_VERSION, id="nothing-is-known-of-what-was-said"),
    ],
)
def test_a_rollout_without_a_message_is_no_session(tmp_path: Path, rows: list[object], reason: SkipReason) -> None:
    assert read(write(tmp_path, *rows)).session == Skipped(reason, THREAD)


def test_the_last_line_is_left_for_later_while_it_is_written(tmp_path: Path) -> None:
    path = write(tmp_path, META, ASKED)
    with path.open("a") as file:
        file.write('{"timestamp":"2026-11-22T15:22:57Z","type":"response_i')

    session = read(path).session

    assert isinstance(session, Session)
    assert len(session.messages) == 1


@pytest.mark.parametrize(
    ("name", "is_claimed"),
    [
        (NAME, True),
        (f"{NAME}.zst", True),
        ("history.jsonl", False),
        ("rollout-2026.json", False),
    ],
)
def test_only_rollouts_are_claimed(name: str, is_claimed: bool) -> None:
    assert CodexRollouts(limits=Limits()).claims(f"/home/a/.codex/sessions/2026/11/22/{name}") is is_claimed


def test_a_packed_rollout_is_passed_over(tmp_path: Path) -> None:
    assert read(write(tmp_path, name=f"{NAME}.zst")).session == Skipped(SkipReason.COMPRESSED)


def test_a_renamed_rollout_is_recognized_by_its_first_line(tmp_path: Path) -> None:
    source = CodexRollouts(limits=Limits())
    beginning = write(tmp_path, META, name="saved.jsonl").read_bytes()

    assert source.recognizes("/tmp/saved.jsonl", beginning)
    assert not source.recognizes("/tmp/saved.jsonl", b'{"type":"user"}\n')


def test_each_write_is_told_for_files_that_stay_open() -> None:
    (watch,) = CodexRollouts(["/srv/codex/sessions"], limits=Limits()).watches

    assert (watch.folder, watch.recursive, watch.writes) == ("/srv/codex/sessions", True, True)
