"""Adapters as users meet them: only what is named is loaded, and one that fails costs nobody else anything."""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from grader_daemon.api.context import GraderContext
from grader_daemon.api.grader import SelfGrader
from grader_daemon.api.source_switches import disable_source, enable_source
from grader_daemon.api.sources import FoundSource, found_sources
from grader_daemon.api.ungraded import SourceState
from grader_daemon.errors import ConfigurationError, InputError
from grader_daemon.settings import Settings, load_settings
from tests.adapters import install
from tests.e2e.session_files import write
from tests.unit.cli.conftest import Run, run

__all__ = ["run"]

LOG = """{"event": "start", "session": "7", "version": "3.1", "at": "2026-11-22T15:20:00Z"}
{"event": "person", "text": "Fix it", "at": "2026-11-22T15:20:00Z"}
{"event": "model", "text": "Fixed.", "at": "2026-11-22T15:20:00Z"}
{"event": "end", "why": "done", "at": "2026-11-22T15:20:00Z"}
"""


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A home with a log of Acme and a session of Hermes; the adapter is installed."""
    for name in [*(name for name in os.environ if name.startswith("GRADER_")), "XDG_CONFIG_HOME"]:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    logs = tmp_path / ".acme" / "logs"
    logs.mkdir(parents=True)
    (logs / "7.log").write_text(LOG)
    (tmp_path / ".timmy").mkdir()
    write(tmp_path / ".timmy", "one")
    install(tmp_path / "site")
    monkeypatch.syspath_prepend(str(tmp_path / "site"))
    yield tmp_path
    sys.modules.pop("acme_grader", None)


def break_it(home: Path) -> None:
    (home / "site" / "acme_grader.py").write_text("raise ValueError('no')\n")


def settings(*names: str) -> Settings:
    return load_settings(sources=["hermes", *names])


def found_now(*names: str) -> list[FoundSource]:
    with closing(GraderContext(settings(*names))) as context:
        return found_sources(context)


def test_what_no_setting_names_is_known_and_not_imported(home: Path) -> None:
    break_it(home)
    found = found_now()[-1]

    assert (found.name, found.package, found.state, found.fault) == (
        *("acme", "acme-grader 1.0"),
        SourceState.NOT_ENABLED,
        None,
    )
    assert "acme_grader" not in sys.modules


def test_enabling_one_finds_and_grades_its_sessions_and_disabling_it_leaves_them(home: Path) -> None:
    enabled = enable_source("acme")
    with SelfGrader() as grader:
        [grade] = [each for each in grader.grade_latest_sessions() if each.format == "acme"]
    disabled = disable_source("acme")

    assert (enabled.title, enabled.folders, enabled.sessions) == ("Acme", (str(home / ".acme/logs"),), 1)
    assert (grade.session_id, grade.agent, grade.agent_version) == ("7", "acme", "3.1")
    assert (grade.format, grade.adapter) == ("acme", "acme-grader 1.0")
    assert disabled.state is SourceState.DECLINED


def test_folders_of_an_adapter_are_set_behind_its_name(home: Path) -> None:
    (home / "more").mkdir()
    enable_source("acme", [str(home / "more")])
    written = tomllib.loads((home / ".config/grader-daemon/config.toml").read_text())

    assert written["adapter_roots"] == [f"acme={home}/.acme/logs", f"acme={home}/more"]
    assert [str(root) for root in load_settings().roots_of("acme")] == [f"{home}/.acme/logs", f"{home}/more"]


@pytest.mark.parametrize(
    ("given", "why"),
    [
        (
            {"sources": ["hermes", "acne"]},
            "a source is expected: hermes, .*, openhands, acme, or .* did you mean acme?",
        ),
        (
            {"sources": ["hermes", "Of mine"]},
            "a source is expected: hermes, .*, openhands, acme, or the name of an adapter",
        ),
        ({"adapter_roots": ["/logs"]}, 'write the folder of an adapter as "acme=~/.acme/sessions"'),
        ({"adapter_roots": ["acme=https://x"]}, "a path is expected, not a URL"),
    ],
)
def test_what_names_no_adapter_is_refused(given: dict[str, list[str]], why: str) -> None:
    with pytest.raises(ConfigurationError, match=why):
        load_settings(**given)  # type: ignore[arg-type]


def test_one_that_is_not_enabled_reads_nothing_though_a_person_names_it(home: Path) -> None:
    with SelfGrader() as grader, pytest.raises(InputError, match="grader-daemon sources enable acme"):
        grader.grading.grade_paths([home / ".acme/logs/7.log"], source="acme")


def test_one_that_fails_costs_no_session_of_others(home: Path) -> None:
    break_it(home)
    with SelfGrader(settings=settings("acme")) as grader:
        grades = grader.grade_latest_sessions()
        failed = grader.grading.failed_sources()
        [check] = [check for check in grader.doctor() if check.name == "agents"]
    [found] = [each for each in found_now("acme") if each.name == "acme"]

    why = "acme-grader 1.0: cannot be loaded: ValueError: no (acme_grader.py:1)"
    assert [grade.format for grade in grades] == ["hermes"]
    assert failed == {"acme": f"AdapterError: {why}"}
    assert (check.state, check.found) == ("problem", f"the adapter for acme fails: {why}")
    assert "grader-daemon sources disable acme" in str(check.fix)
    assert found.fault == why


def test_one_that_is_not_installed_any_more_costs_no_session_of_others() -> None:
    with SelfGrader(settings=settings("borg")) as grader:
        grades = grader.grade_latest_sessions()
        [check] = [check for check in grader.doctor() if check.name == "agents"]

    assert [grade.format for grade in grades] == ["hermes"]
    assert check.found.startswith("the adapter for borg fails: no installed package provides it: install the package")


def test_commands_tell_of_one_that_is_not_installed(home: Path, run: Run) -> None:
    """`borg` was enabled while it was installed; `run --once` logs in JSON."""
    file = home / ".config/grader-daemon/config.toml"
    file.parent.mkdir(parents=True)
    file.write_text('sources = ["borg"]\n')
    checked, alone = run(home, "config", "check"), run(home, "grade")
    disabled_other = run(home, "config", "set", "sources", "hermes", "borg")
    filled = run(home, "grade")
    once = subprocess.run([sys.executable, "-m", "grader_daemon", "run", "--once"], stderr=subprocess.PIPE, check=False)

    why = "no installed package provides it: install the package, or remove the name from sources"
    assert (checked.returncode, checked.stderr.splitlines()[-1].endswith(f"'borg': {why}")) == (1, True)
    assert (alone.returncode, alone.stderr) == (2, f"grader-daemon: borg: {why}, so nothing was searched\n")
    assert (disabled_other.returncode, why in disabled_other.stderr) == (0, True)
    assert (filled.returncode, filled.stdout, filled.stderr) == (1, "1 graded\n", f"grader-daemon: borg: {why}\n")
    assert (once.returncode, f"borg: {why}; other agents go on" in once.stderr.decode()) == (1, True)


def test_commands_tell_of_it_in_a_line(home: Path, run: Run) -> None:
    enable_source("acme")
    log = str(home / ".acme/logs/7.log")
    graded = run(home, "grade", "--as", "acme", "--dry-run", log)
    sys.modules.pop("acme_grader", None)
    break_it(home)
    failed = run(home, "grade", "--as", "acme", "--dry-run", log)
    listed = run(home, "sources")
    filled = run(home, "grade", "--dry-run")

    why = "acme-grader 1.0: cannot be loaded: ValueError: no (acme_grader.py:1)"
    assert (graded.returncode, graded.stderr) == (0, "")
    assert failed.returncode == 1
    assert f"the adapter for acme fails and reads nothing: {why}" in failed.stderr
    assert f"graded: fails: {why}" in listed.stdout
    assert f"files of acme are left out because of a bug in its adapter: AdapterError: {why}" in filled.stderr
