from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace

from grader_daemon.outcomes import commands
from grader_daemon.outcomes.model import HIDDEN, OutsideFile, SeenFate, Work
from grader_daemon.outcomes.store import Followed
from tests.strategies import NOW

_SEEN = SeenFate(looked_at=NOW)
_THERE = (OutsideFile(path="/a", digest="", folder=0),)


def _followed(name: str, fate: SeenFate) -> Followed:
    return Followed(name, None, None, Work(began=NOW, ended=NOW), fate)


def test_sessions_without_a_fate_are_counted_and_hidden_folders_named_once(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    folders = [f"{tmp_path}/a", *(f"/w/{number}" for number in range(4)), f"{tmp_path}/a"]
    hidden = [replace(_SEEN, trouble=f"{folder}{HIDDEN}") for folder in folders]
    seen = [replace(hidden[0], outside=_THERE), replace(_SEEN, trouble="it is too large"), _SEEN, _SEEN]

    commands._print_all([_followed(f"s{number}", fate) for number, fate in enumerate([*seen, *hidden])])

    assert capsys.readouterr().out.splitlines() == [
        "s0",
        "  other files: 1 still there",
        f"  not all work checked: no folder {tmp_path}/a, or it is hidden from the service",
        "s1",
        "  not all work checked: it is too large",
        "2 sessions with nothing to follow",
        "6 sessions not seen, because 5 folders are not there, or hidden from the service: ~/a, /w/0, /w/1 and 2 more",
    ]


def test_one_folder_and_one_session_that_was_asked_for(capsys: pytest.CaptureFixture[str]) -> None:
    commands._print_all([_followed("a", replace(_SEEN, trouble=f"/src{HIDDEN}"))])
    assert (
        capsys.readouterr().out
        == "1 session not seen, because 1 folder is not there, or hidden from the service: /src\n"
    )
    commands._print_each([_followed("a", _SEEN)])
    assert capsys.readouterr().out == "a: nothing to follow\n"
