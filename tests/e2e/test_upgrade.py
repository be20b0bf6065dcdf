"""A home that the last release made, and the program that takes its place: nothing is lost.

Both are real wheels in one environment, the newer installed over the older one as `pip install` does. What they are
built on is what the tests have.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tarfile
from io import BytesIO
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.e2e.daemon_process import DATABASE
from tests.e2e.session_files import PERMISSION_DENIED, TASK, turns, write
from tests.needs import require, require_programs
from tests.strategies import json_answer, json_round, json_user

pytestmark = pytest.mark.thorough

_ROOT = Path(__file__).parents[2]
_BEFORE_A_RELEASE = "6517642b1c70222ae64f26ebdc73a31e527388a1"
"""Commit whose wheel is taken as long as there is no tag: its schema is eleven migrations behind."""

_SETTINGS = {
    "quiet_seconds": "3.5",
    "timezone": "Europe/Berlin",
    "dashboard_port": "7777",
    "max_file_bytes": "30000000",
}
_OF_THE_RECORD = ("session_id", "session_file", "model", "ended_at", "total_api_calls", "tool_calls", "state")
"""What a grade has from its session; verdicts may become others, which `grade --again --diff` tells before."""


class _Installed:
    """An environment with one program, and the home of its user."""

    def __init__(self, folder: Path) -> None:
        self._python = folder / "venv" / "bin" / "python"
        self.home = folder / "home"
        self.home.mkdir()
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder / "venv"], check=True)
        site = next((folder / "venv" / "lib").glob("python*/site-packages"))
        (site / "those-of-the-tests.pth").write_text("\n".join(path for path in sys.path if "-packages" in path))

    def install(self, wheel: Path) -> None:
        pip = [sys.executable, "-m", "pip", "--python", str(self._python), "install", "--quiet", "--no-deps"]
        subprocess.run([*pip, "--no-index", "--force-reinstall", str(wheel)], check=True, capture_output=True)

    def run(self, *arguments: str) -> str:
        """Run a command that must end well; gives what it said."""
        environment = {"PATH": os.environ["PATH"], "HOME": str(self.home), "LANG": "C.UTF-8"}
        command = [str(self._python), "-P", "-m", "grader_daemon", *arguments]
        ended = subprocess.run(command, env=environment, cwd=self.home, capture_output=True, text=True, check=False)
        assert ended.returncode == 0, (arguments, ended)
        return ended.stdout

    def told(self, *arguments: str) -> Any:
        return json.loads(self.run(*arguments, "--json"))


class Upgraded(NamedTuple):
    """What the earlier program said, and the later one in its place, when it had written for the first time."""

    before: dict[str, Any]
    after: dict[str, Any]
    home: Path


_ERRORS = {True: ("report", "errors"), False: ("errors",)}
"""The command that told of errors, now and then."""

_ASKED = {
    "grades": ("list", "-n", "1000"),
    "labels": ("label", "--list"),
    "errors": ("list", "--all", "-n", "1000"),
    **{name: ("config", "get", name) for name in _SETTINGS},
}


@pytest.fixture(scope="module")
def upgraded(tmp_path_factory: pytest.TempPathFactory) -> Upgraded:
    """A home with sessions, labels, a resolved error and settings, before and after."""
    folder = tmp_path_factory.mktemp("upgrade")
    program = _Installed(folder)
    program.install(_wheel(_released(folder / "earlier"), folder / "earlier.made"))
    _live(program)
    before = _told(program, is_later=False)
    program.install(_wheel(_ROOT, folder / "later.made"))
    program.run("label", "there_0", "--completed", "yes", "--note", "said since")
    return Upgraded(before, _told(program, is_later=True), program.home)


def _told(program: _Installed, *, is_later: bool) -> dict[str, Any]:
    return {
        name: program.told(*(_ERRORS[is_later] if name == "errors" else ()), *asked) for name, asked in _ASKED.items()
    }


def _live(program: _Installed) -> None:
    sessions = program.home / ".timmy" / "hermes" / "sessions"
    for number in range(12):
        failed = [json_user(TASK), *json_round(PERMISSION_DENIED), json_answer("I could not do it.")]
        messages = turns(1 + number % 4) if number % 3 else failed
        write(sessions, f"there_{number}", messages, age=3600 * number + 60)
    for name, value in _SETTINGS.items():
        program.run("config", "set", name, value)
    program.run("run", "--once")
    program.run("label", "there_1", "--completed", "no", "--note", "the wrong file")
    program.run("label", "there_2", "--completed", "yes")
    issues = program.told(*_ERRORS[False], "list")["issues"]
    for issue in issues[:1]:
        program.run(*_ERRORS[False], "resolve", issue["fingerprint"])


def _released(folder: Path) -> Path:
    """Unpack what was released last, or the commit that stands for it."""
    require_programs("git")
    asked = ["git", "-C", str(_ROOT), "describe", "--tags", "--match", "v[0-9]*", "--abbrev=0", "HEAD^"]
    tag = subprocess.run(asked, capture_output=True, text=True, check=False).stdout.strip()
    packing = ["git", "-C", str(_ROOT), "archive", tag or _BEFORE_A_RELEASE]
    packed = subprocess.run(packing, capture_output=True, check=False)
    require(packed.returncode == 0, f"the commit {tag or _BEFORE_A_RELEASE}")
    with tarfile.open(fileobj=BytesIO(packed.stdout)) as files:
        files.extractall(folder, filter="data")
    return folder


def _wheel(sources: Path, folder: Path) -> Path:
    build = [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", str(folder)]
    subprocess.run(build, cwd=sources, check=True, capture_output=True)
    return next(folder.glob("*.whl"))


def test_every_grade_is_there(upgraded: Upgraded) -> None:
    then, now = (
        [{key: grade[key] for key in _OF_THE_RECORD} for grade in said["grades"]["grades"]]
        for said in (upgraded.before, upgraded.after)
    )

    assert len(then) == 12
    assert now == then


def test_every_label_is_there_and_what_was_said_since(upgraded: Upgraded) -> None:
    then, now = (
        {label["session_id"]: (label["completed"], label["note"]) for label in said["labels"]["labels"]}
        for said in (upgraded.before, upgraded.after)
    )

    assert then == {"there_1": (False, "the wrong file"), "there_2": (True, None)}
    assert now == {**then, "there_0": (True, "said since")}


@pytest.mark.parametrize("name", _SETTINGS)
def test_every_setting_is_there(upgraded: Upgraded, name: str) -> None:
    then, now = ({key: said[name][key] for key in ("value", "source")} for said in (upgraded.before, upgraded.after))

    assert now == then


def test_what_was_said_of_errors_is_there(upgraded: Upgraded) -> None:
    then, now = (
        {issue["fingerprint"]: issue["state"] for issue in said["errors"]["issues"]}
        for said in (upgraded.before, upgraded.after)
    )

    assert "resolved" in then.values()
    assert now == then


def test_a_copy_of_before_is_kept(upgraded: Upgraded) -> None:
    folder = (upgraded.home / DATABASE).parent

    assert [path.name for path in folder.glob("*.before-upgrade-*")] != []
