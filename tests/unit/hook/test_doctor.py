from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace

from grader_daemon.api.doctor.doctor_context import DoctorContext
from grader_daemon.domain.check import Finding, ok, warning
from grader_daemon.hook.doctor import hooks
from grader_daemon.hook.hooked_agents import AGENTS, Mode
from grader_daemon.hook.installation import Hooks
from grader_daemon.hook.listener import listeners
from tests.strategies import NOW
from tests.unit.hook.conftest import Home, wait_until_asked

AGAIN = "grader-daemon hook uninstall codex, then: grader-daemon hook install codex"


def found(home: Home) -> Finding:
    with DoctorContext(lambda: home.settings, now=NOW) as context:
        return hooks(context)


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The hooks of Codex."""
    monkeypatch.setenv("CODEX_HOME", str(tmp_path))
    return tmp_path / "hooks.json"


def test_without_hooks_all_is_well(home: Home) -> None:
    assert found(home) == ok("no agent has the hook")


def test_a_hook_of_an_agent_that_is_not_graded_is_told(home: Home, file: Path) -> None:
    installed = Hooks(home.settings)
    installed.install(*installed.planned(AGENTS["codex"], Mode.TELL))
    assert found(home) == warning(
        "sessions of Codex are not graded, so the hook reports nothing", "grader-daemon sources enable codex"
    )
    assert file.exists()


def test_a_hook_that_nobody_answers_is_told(home: Home, file: Path) -> None:
    home = home._replace(settings=home.settings.model_copy(update={"sources": ("codex",)}))
    installed = Hooks(home.settings)
    installed.install(*installed.planned(AGENTS["codex"], Mode.TELL))
    assert found(home) == warning("no daemon answers the hook", "grader-daemon status")
    (listening,) = listeners(home.settings)
    listening.start(lambda _: None)
    wait_until_asked(home.settings)
    assert found(home) == ok("1 agent has the hook")
    listening.stop(20)
    assert file.exists()


def test_a_hook_that_is_gone_or_left_behind_is_told(home: Home, file: Path) -> None:
    installed = Hooks(home.settings)
    hook, change = installed.planned(AGENTS["codex"], Mode.TELL)
    installed.install(hook, change)
    file.write_text("{}")
    assert found(home) == warning("the hook of Codex is missing or does not start this program", AGAIN)
    installed.uninstall(*installed.unplanned(AGENTS["codex"]))
    hook, change = installed.planned(AGENTS["codex"], Mode.TELL)
    moved = hook.command.replace("ask.py", "elsewhere.py")
    installed.install(
        replace(hook, command=moved), replace(change, after=(change.after or "").replace("ask.py", "elsewhere.py"))
    )
    assert found(home) == warning("the hook of Codex is missing or does not start this program", AGAIN)
