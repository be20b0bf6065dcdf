"""What a command may load: most of the time of a short one goes into it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.unit.cli.test_completion import known_home

__all__ = ["known_home"]

_OF_GRADING = {
    *("asyncio.events", "difflib", "http", "logging", "multiprocessing", "rich", "sqlite3", "structlog"),
    *("subprocess", "tenacity", "watchdog", "pytest", "grader_daemon.sources.adapted", "grader_daemon.testing"),
    *(f"grader_daemon.{room}" for room in ("alerts", "analysis", "daemon", "grading", "jobs", "log", "redaction")),
    *(f"grader_daemon.sources.{agent}" for agent in ("atif", "claude_code", "codex", "copilot", "gemini_cli")),
    *(f"grader_daemon.sources.{agent}" for agent in ("mini_swe_agent", "openhands")),
    *(f"grader_daemon.sources.{agent}" for agent in ("cline", "openclaw", "opencode", "pi", "qwen_code")),
}
"""Each takes 2 to 60 ms of processor time."""

_OF_READING = {"pydantic", "pydantic_settings", "msgspec", "apsw", "grader_daemon.bootstrap", "grader_daemon.settings"}

_OF_SETTINGS = {"logging", "subprocess"}
"""What pydantic-settings loads, whether it is used or not."""

_OF_NO_USE = {"email", "hashlib", "importlib.metadata._meta", "socket", "ssl"}
"""What it, pydantic and modules of ours import for what few commands do: 10 ms."""

_ASKED = """
import atexit, gc, json, sys
tell = lambda: print(json.dumps({"loaded": [*sys.modules], "frozen": gc.get_freeze_count()}), file=sys.stderr)
atexit.register(tell)
from grader_daemon.cli import main
main()
"""


def _ended(*arguments: str, given: str = "") -> dict[str, Any]:
    """Return what is loaded at the end of a command, and how many objects the last look for rubbish leaves out."""
    ended = subprocess.run(
        [sys.executable, "-c", _ASKED, *arguments],
        input=given,
        capture_output=True,
        encoding="utf-8",
        check=False,
        timeout=60,
    )
    told: dict[str, Any] = json.loads(ended.stderr.splitlines()[-1])
    return told


def _stopped() -> dict[str, Any]:
    """Return the same of a daemon that is told to end when it has looked at all files."""
    command = [sys.executable, "-c", _ASKED, "run", "--log-format", "json"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, encoding="utf-8") as daemon:
        assert daemon.stderr is not None
        lines = []
        for line in daemon.stderr:
            lines.append(line)
            if "reconcile.finished" in line:
                daemon.terminate()
    told: dict[str, Any] = json.loads(lines[-1])
    return told


@pytest.mark.parametrize(
    "arguments",
    [
        pytest.param(("list",), id="list"),
        pytest.param(("list", "--sort", "quality"), id="list-sorted"),
        pytest.param(("status",), id="status"),
        pytest.param((), id="summary"),
        pytest.param(("show", "20261121_a"), id="show"),
        pytest.param(("config", "show"), id="config-show"),
    ],
)
@pytest.mark.usefixtures("known_home")
def test_a_command_that_reads_loads_nothing_that_grades(arguments: tuple[str, ...]) -> None:
    assert not ((_OF_GRADING - _OF_SETTINGS) | _OF_NO_USE) & set(_ended(*arguments)["loaded"])


_OF_CHECKING = {"pydantic", "pydantic_settings", "grader_daemon.settings", "grader_daemon.setting_types"}


@pytest.mark.parametrize("arguments", [("list",), ("status",), (), ("why", "20261121_a"), ("report",)], ids=" ".join)
@pytest.mark.usefixtures("known_home")
def test_settings_that_were_checked_are_not_checked_again(arguments: tuple[str, ...]) -> None:
    assert set(_ended(*arguments)["loaded"]) >= _OF_CHECKING
    assert not _OF_CHECKING & set(_ended(*arguments)["loaded"])


def test_the_page_begins_without_what_checks_settings() -> None:
    loaded = "import grader_daemon.dashboard.app, grader_daemon.dashboard.commands, sys; print(*sys.modules)"
    ended = subprocess.run([sys.executable, "-c", loaded], stdout=subprocess.PIPE, encoding="utf-8", check=True)
    assert not _OF_CHECKING & set(ended.stdout.split())


@pytest.mark.parametrize("arguments", [("why", "20261121_a"), ("report",), ("-d", "365")], ids=" ".join)
@pytest.mark.usefixtures("known_home")
def test_a_command_that_explains_loads_nothing_that_looks_into_sessions(arguments: tuple[str, ...]) -> None:
    of_sessions = {"grader_daemon.analysis.analyzer", "grader_daemon.analysis.claims", "grader_daemon.pipeline.ingest"}
    assert not (of_sessions | {"structlog", "rich", "asyncio.events"}) & set(_ended(*arguments)["loaded"])


@pytest.mark.parametrize("arguments", [("--help",), ("--version",)], ids=["help", "version"])
def test_what_asks_nothing_reads_no_settings(arguments: tuple[str, ...]) -> None:
    assert not (_OF_GRADING | _OF_READING) & set(_ended(*arguments)["loaded"])


def test_the_help_of_a_group_loads_no_command_of_another_room() -> None:
    assert "grader_daemon.dashboard.fleet_commands" not in _ended("fleet", "--help")["loaded"]


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_a_shell_that_starts_waits_for_no_settings(shell: str) -> None:
    """bash is asked for its version, by click, with `subprocess`."""
    assert not (_OF_GRADING | _OF_READING - {"apsw"}) & set(_ended("config", "completion", shell)["loaded"])


_OPENING = '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25"}}\n'
_RECALL = (
    '{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"recall","arguments":{"task":"Look at it"}}}\n'
)


@pytest.mark.usefixtures("known_home")
def test_an_agent_waits_for_nothing_that_it_did_not_ask_for() -> None:
    opened, asked = (set(_ended("mcp", given=given)["loaded"]) for given in (_OPENING, _OPENING + _RECALL))
    never = (_OF_READING - {"msgspec", "apsw"}) | {"grader_daemon.storage.sqlite.store", "shutil", "dataclasses"}
    parsers = {"click", "inspect", "typing_extensions"}
    of_sums = {f"grader_daemon.domain.{name}" for name in ("analysis", "insight", "rollup", "verdict")}
    assert not (_OF_GRADING | never | parsers | {"apsw", "grader_daemon.recall.find_recollections"}) & opened
    assert not (_OF_GRADING | never | parsers | of_sums | {"grader_daemon.storage.records"}) & asked
    assert "grader_daemon.recall.find_recollections" in asked


_NOT_AT_REST = {
    *("asyncio.events", "ssl", "hashlib", "html.entities", "rich", "greenlet", "email", "http.client"),
    *("pydantic", "pydantic_settings", "grader_daemon.settings"),
    *("grader_daemon.sources.codex", "grader_daemon.sources.claude_code", "grader_daemon.dashboard"),
}
"""Each would take .3 to 12 MB of a daemon that has nothing to do."""


@pytest.mark.thorough
@pytest.mark.usefixtures("known_home")
def test_a_daemon_keeps_nothing_that_only_its_start_needs() -> None:
    loaded = set(_stopped()["loaded"])

    assert not _NOT_AT_REST & loaded
    assert "grader_daemon.daemon.service_loop" in loaded


_AWAITED = """
import sys
from grader_daemon.cli.loading import loading
with loading():
    import asyncio
    import asyncio.locks
    import importlib.metadata
    import secrets
    import structlog
    from importlib.metadata import entry_points
    assert not {"asyncio.runners", "email", "hmac"} & set(sys.modules)
    assert "rich" in sys.modules
assert "rich" not in sys.modules
assert len(secrets.token_hex(4)) == 8
assert entry_points(group="no.such.group") == entry_points(group="neither")
assert importlib.metadata.entry_points is not entry_points
assert importlib.metadata.version("structlog") == structlog.__version__
async def answer():
    return asyncio.locks.Lock().locked()
assert asyncio.run(answer()) is False
import asyncio as again
assert again is asyncio
"""


def test_a_module_that_was_put_off_is_whole_when_it_is_used() -> None:
    subprocess.run([sys.executable, "-c", _AWAITED], check=True, timeout=60)


def test_a_folder_without_sessions_does_not_load_how_they_are_read(known_home: Path) -> None:
    (known_home / ".claude").mkdir()

    assert "grader_daemon.sources.claude_code" not in _ended("status")["loaded"]


@pytest.mark.usefixtures("known_home")
def test_nobody_looks_for_rubbish_in_a_process_that_ends() -> None:
    assert _ended("list")["frozen"] > 0


_PLUGIN = "import os, pathlib; pathlib.Path(os.environ['HOME'], 'handed').touch()"


@pytest.mark.thorough
@pytest.mark.parametrize("arguments", [("list",), ("status",), ("config", "show"), ("doctor",)], ids=" ".join)
def test_no_plugin_of_another_package_is_handed_the_settings(
    known_home: Path,
    tmp_path_factory: pytest.TempPathFactory,
    monkeypatch: pytest.MonkeyPatch,
    arguments: tuple[str, ...],
) -> None:
    place = tmp_path_factory.mktemp("installed")
    (place / "curious.py").write_text(f"{_PLUGIN}\nplugin = None\n")
    (place / "curious-1.dist-info").mkdir()
    (place / "curious-1.dist-info/entry_points.txt").write_text("[pydantic]\ncurious = curious:plugin\n")
    (place / "curious-1.dist-info/METADATA").write_text("Name: curious\nVersion: 1\n")
    monkeypatch.setenv("PYTHONPATH", f"{place}{os.pathsep}{os.environ.get('PYTHONPATH', '')}")
    monkeypatch.setenv("PYTHONSAFEPATH", "1")

    _ended(*arguments)

    assert not (known_home / "handed").exists()
    asked = "from grader_daemon.settings import load_settings; load_settings()"
    subprocess.run([sys.executable, "-c", asked], capture_output=True, check=False, timeout=60)
    assert (known_home / "handed").exists(), "the plugin of this test is one"


_WITHOUT_PSYCOPG = "import sys; sys.modules['psycopg'] = None\nfrom grader_daemon.cli import main\nmain()"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        pytest.param(("list",), "", id="list"),
        pytest.param((), "", id="summary"),
        pytest.param(("dashboard", "--help"), "", id="help-of-the-page"),
        pytest.param(("fleet", "--help"), "", id="help-of-the-fleet"),
        pytest.param(("list", "--db", "postgresql://h/d"), "psycopg", id="list-of-a-fleet"),
        pytest.param(("fleet", "init", "--url", "postgresql://h/d"), "psycopg", id="init"),
        pytest.param(("fleet", "watch", "--db", "postgresql://h/d"), "psycopg", id="watch"),
    ],
)
@pytest.mark.usefixtures("known_home")
def test_who_has_no_fleet_needs_no_psycopg(arguments: tuple[str, ...], said: str) -> None:
    command = [sys.executable, "-c", _WITHOUT_PSYCOPG, *arguments]
    ended = subprocess.run(command, capture_output=True, encoding="utf-8", check=False, timeout=60)
    assert ended.returncode == (2 if said else 0), ended.stderr
    assert said in ended.stderr
    assert "Traceback" not in ended.stderr
