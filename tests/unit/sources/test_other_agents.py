from __future__ import annotations

from pathlib import Path

import pytest

from grader_daemon.sources.other_agents import FoundElsewhere, found_elsewhere, writer_of


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOME", str(tmp_path))
    for variable in ("XDG_DATA_HOME", "XDG_STATE_HOME"):
        monkeypatch.delenv(variable, raising=False)
    return tmp_path


def test_agents_are_found_by_their_folders_each_once(home: Path) -> None:
    for place in (".factory/sessions", ".cursor/chats", ".cursor/projects", ".local/share/amp/threads"):
        (home / place).mkdir(parents=True)

    assert found_elsewhere() == [
        FoundElsewhere("Amp", f"{home}/.local/share/amp/threads"),
        FoundElsewhere("Cursor", f"{home}/.cursor/chats"),
        FoundElsewhere("Factory Droid", f"{home}/.factory/sessions"),
    ]


def test_a_variable_moves_the_home(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (home / "data" / "goose" / "sessions").mkdir(parents=True)
    monkeypatch.setenv("XDG_DATA_HOME", str(home / "data"))

    assert found_elsewhere() == [FoundElsewhere("Goose", f"{home}/data/goose/sessions")]
    assert writer_of(f"{home}/data/goose/sessions/sessions.db") == "Goose"


@pytest.mark.parametrize(
    ("path", "beginning", "agent"),
    [
        ("/home/b/.factory/sessions", b"", "Factory Droid"),
        ("/home/b/.factory/sessions/-work/5f.jsonl", b'{"type":"session_start"}', "Factory Droid"),
        ("/srv/copy/.local/share/zed/threads/threads.db", b"SQLite format 3", "Zed"),
        ("/work/.crush/crush.db", b"SQLite format 3", "Crush"),
        ("/work/.aider.chat.history.md", b"", "Aider"),
        ("/runs/django__django-1.traj", b"{", "SWE-agent"),
        ("/runs/django__django-1.traj.json", b"{", None),
        ("/work/notes.md", b"\n# aider chat started at 2025-12-24 16:45:52\n", "Aider"),
        ("/work/thread.json", b'{"v":12,"id":"T-0f9c2b1a-1111-4222-8333-444455556666"', "Amp"),
        ("/home/b/.factory/settings.json", b"{}", None),
        ("/work/factory/sessions/5f.jsonl", b"{}", None),
        ("/work/notes.md", b"I say: # aider chat started at 2025-", None),
    ],
)
def test_a_file_is_known_by_its_place_or_by_content_beyond_doubt(
    path: str, beginning: bytes, agent: str | None
) -> None:
    assert writer_of(path, beginning) == agent
