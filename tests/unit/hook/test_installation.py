"""A hook in the settings of an agent, on disk."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from grader_daemon.errors import InputError, OutputError
from grader_daemon.hook import installation
from grader_daemon.hook.hooked_agents import AGENTS, Mode
from grader_daemon.hook.installation import Change, Hooks
from grader_daemon.settings import load_settings
from tests.unit.hook.conftest import Home

CLAUDE = AGENTS["claude-code"]
BEFORE = '{\n    "model": "opus",\n    "permissions": {"allow": []}\n}'


def copies() -> Path:
    """Return the folder with the copies, which the daemon cannot write."""
    return Path("~/.config/grader-daemon/hooks").expanduser()


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The settings of Claude Code."""
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path / ".claude"))
    file = tmp_path / ".claude" / "settings.json"
    file.parent.mkdir(exist_ok=True)
    file.write_text(BEFORE)
    file.chmod(0o644)
    return file


def test_uninstalled_the_file_is_what_it_was_to_the_byte(home: Home, file: Path) -> None:
    hooks = Hooks(home.settings)
    hooks.install(*hooks.planned(CLAUDE, Mode.TELL))
    assert json.loads(file.read_text())["model"] == "opus"
    assert (hooks.installed()[0].mode, file.stat().st_mode & 0o777) == (Mode.TELL, 0o644)
    assert (copies() / "claude-code.before").read_text() == BEFORE

    hooks.uninstall(*hooks.unplanned(CLAUDE))
    assert (file.read_text(), file.stat().st_mode & 0o777) == (BEFORE, 0o644)
    assert hooks.installed() == []
    assert list(copies().iterdir()) == []


def test_nothing_that_the_daemon_can_write_is_put_where_an_agent_reads(home: Home, file: Path) -> None:
    hooks, beside = Hooks(home.settings), home.settings.db_path.parent / "hooks"
    hooks.install(*hooks.planned(CLAUDE, Mode.TELL))
    beside.mkdir(exist_ok=True)
    (beside / "claude-code.before").write_text('{"apiKeyHelper": "/tmp/hostile"}')

    hooks.uninstall(*hooks.unplanned(CLAUDE))
    assert file.read_text() == BEFORE


@pytest.mark.usefixtures("home")
def test_a_hook_stands_whatever_is_in_its_path_and_however_the_file_is_written(file: Path, tmp_path: Path) -> None:
    hooks = Hooks(load_settings(db_path=str(tmp_path / "Jürgen" / "grades.db")))
    hooks.install(*hooks.planned(CLAUDE, Mode.TELL))
    (hook,) = hooks.installed()
    assert hooks.stands(hook)
    with pytest.raises(InputError, match="already has the hook"):
        hooks.planned(CLAUDE, Mode.TELL)
    file.write_text(json.dumps(json.loads(file.read_text()), ensure_ascii=True))
    assert hooks.stands(hook)
    file.write_text("{")
    assert not hooks.stands(hook)


def test_an_agent_has_the_hook_of_one_database(home: Home, file: Path, tmp_path: Path) -> None:
    hooks, others = Hooks(home.settings), Hooks(load_settings(db_path=str(tmp_path / "other" / "grades.db")))
    hooks.install(*hooks.planned(CLAUDE, Mode.TELL))

    assert others.installed() == []
    with pytest.raises(InputError, match=f"first run: hook uninstall claude-code --db-path {home.settings.db_path}"):
        others.planned(CLAUDE, Mode.TELL)
    with pytest.raises(InputError, match="Claude Code has no hook for this database"):
        others.unplanned(CLAUDE)
    assert "Stop" in file.read_text()


def test_where_there_was_no_file_none_is_left(home: Home, file: Path) -> None:
    file.unlink()
    hooks = Hooks(home.settings)
    hooks.install(*hooks.planned(CLAUDE, Mode.TELL))
    hooks.uninstall(*hooks.unplanned(CLAUDE))
    assert not file.exists()


def test_what_was_changed_meanwhile_stays(home: Home, file: Path) -> None:
    hooks = Hooks(home.settings)
    hooks.install(*hooks.planned(CLAUDE, Mode.BLOCK))
    changed = json.loads(file.read_text()) | {"model": "sonnet"}
    file.write_text(json.dumps(changed))
    hooks.uninstall(*hooks.unplanned(CLAUDE))
    assert json.loads(file.read_text()) == json.loads(BEFORE) | {"model": "sonnet"}


def test_a_file_that_is_gone_is_not_made_anew(home: Home, file: Path) -> None:
    hooks = Hooks(home.settings)
    hooks.install(*hooks.planned(CLAUDE, Mode.BLOCK))
    file.unlink()
    assert not hooks.stands(hooks.installed()[0])
    hooks.uninstall(*hooks.unplanned(CLAUDE))
    assert not file.exists()


def test_a_link_stays_one(home: Home, file: Path, tmp_path: Path) -> None:
    real = tmp_path / "dotfiles.json"
    file.rename(real)
    file.symlink_to(real)
    hooks = Hooks(home.settings)
    hooks.install(*hooks.planned(CLAUDE, Mode.TELL))
    assert file.is_symlink()
    assert "Stop" in real.read_text()


def test_nothing_is_written_over_a_change_that_nobody_was_shown(home: Home, file: Path) -> None:
    hooks = Hooks(home.settings)
    planned = hooks.planned(CLAUDE, Mode.TELL)
    file.write_text("{}")
    with pytest.raises(InputError, match="changed meanwhile"):
        hooks.install(*planned)


def test_a_hook_is_installed_once(home: Home, file: Path) -> None:  # noqa: ARG001  that it is there
    hooks = Hooks(home.settings)
    hooks.install(*hooks.planned(CLAUDE, Mode.TELL))
    with pytest.raises(
        InputError, match=r"Claude Code already has the hook \(--mode tell\); first run: hook uninstall claude-code"
    ):
        hooks.planned(CLAUDE, Mode.BLOCK)


@pytest.mark.parametrize(
    ("content", "said"),
    [(b"{", "settings.json: it is not JSON"), (b"\xff", "not UTF-8"), (b" " * 5_000_000, "larger than")],
)
def test_a_file_that_is_no_settings_is_named(home: Home, file: Path, content: bytes, said: str) -> None:
    file.write_bytes(content)
    with pytest.raises(InputError, match=said):
        Hooks(home.settings).planned(CLAUDE, Mode.TELL)


def test_an_agent_that_was_never_here_is_told(home: Home, file: Path) -> None:
    with pytest.raises(InputError, match="no such folder; give the agent's settings file with --file"):
        Hooks(home.settings).planned(CLAUDE, Mode.TELL, file=file.parent / "nowhere" / "settings.json")
    with pytest.raises(InputError, match="Codex has no hook for this database"):
        Hooks(home.settings).unplanned(AGENTS["codex"])


def test_a_note_that_cannot_be_read_is_named(home: Home) -> None:
    folder = copies()
    folder.mkdir(parents=True)
    (folder / "codex.json").write_text("{")
    with pytest.raises(InputError, match=r"codex\.json: damaged; delete it"):
        Hooks(home.settings).installed()


def test_a_file_that_may_not_be_written_is_named(home: Home, file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied")

    hooks = Hooks(home.settings)
    planned = hooks.planned(CLAUDE, Mode.TELL)
    monkeypatch.setattr(installation, "replace_file", refuse)
    with pytest.raises(OutputError, match=r"claude-code\.before: cannot be written: Permission denied"):
        hooks.install(*planned)
    assert file.read_text() == BEFORE


def test_a_folder_that_cannot_be_made_is_named(home: Home, file: Path) -> None:
    copies().parent.mkdir(parents=True)
    copies().write_text("")
    hooks = Hooks(home.settings)
    with pytest.raises(OutputError, match="cannot be made"):
        hooks.install(hooks.planned(CLAUDE, Mode.TELL)[0], Change(file, BEFORE, "{}"))


def test_an_agent_runs_what_ends_well_whatever_is_there(home: Home, file: Path) -> None:
    hooks = Hooks(home.settings)
    hook, _ = hooks.planned(CLAUDE, Mode.TELL)
    assert os.system(hook.command.replace("ask.py", "gone.py") + " < /dev/null") == 0
    assert os.system(f"{hook.command} < /dev/null") == 0
    assert hooks.leads(hook)
    assert file.read_text() == BEFORE
