"""The README's commands work, and what pages and pictures show is what is printed.

``python -m tests.pictures`` renews the pictures.
"""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import pytest

from tests.documents import page
from tests.pages.served import AT, make_sample_home
from tests.pictures import TERMINAL, WEEKLY, Home, SampleHome, digest, kept_digest, words

_DAILY = [name for name in page("README.md").explained if name.startswith("grader-daemon")]


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> SampleHome:
    return SampleHome(tmp_path_factory.mktemp("home"))


@pytest.mark.thorough
def test_picture_of_the_terminal_is_fresh(home: SampleHome) -> None:
    assert words(TERMINAL.read_text("utf-8")) == words(home.terminal())


@pytest.mark.thorough
def test_picture_of_the_weekly_page_is_fresh(home: SampleHome) -> None:
    assert kept_digest(WEEKLY.read_bytes()) == digest(home.weekly_page())


@pytest.mark.parametrize("picture", [TERMINAL, WEEKLY], ids=lambda path: Path(path).name)
def test_picture_is_small_and_asks_nobody_for_anything(picture: Path) -> None:
    content = picture.read_bytes()

    assert len(content) <= 150_000
    assert b"url(http" not in content


def test_readme_has_ten_commands_for_every_day() -> None:
    assert len(_DAILY) == 10


@pytest.fixture(scope="module")
def session_id(home: SampleHome) -> str:
    return home.run("list", "-n", "1", "-o", "csv").splitlines()[1].split(",")[1]


@pytest.mark.parametrize("command", _DAILY)
def test_daily_command_ends_well(home: SampleHome, session_id: str, command: str) -> None:
    assert home.run(*shlex.split(command.replace("ID", session_id))[1:])


@pytest.mark.thorough
def test_sessions_of_hermes_are_graded_once_its_home_is_set(tmp_path: Path) -> None:
    [command] = [line for block in page("README.md").blocks("sh") for line in block.splitlines() if "~/.hermes" in line]
    home = SampleHome(tmp_path, agent=".hermes", last=20)
    without = home.run("list", "-o", "ndjson")

    home.run(*shlex.split(command.replace("~", str(tmp_path)))[1:])
    home.run("run", "--once")

    assert not without
    assert home.run("list", "-o", "ndjson")


@pytest.mark.parametrize("name", ["docs/operations.md", "docs/settings.md"])
def test_commands_to_copy_work_one_after_the_other(tmp_path: Path, name: str) -> None:
    home = SampleHome(tmp_path, last=100)
    (tmp_path / ".hermes").mkdir()

    printed = [home.shell(block) for block in page(name).blocks("sh")]

    assert all(printed)


def test_doctor_makes_the_checks_that_the_page_shows(home: SampleHome) -> None:
    shown = _output("docs/operations.md", "grader-daemon doctor")
    names = {re.split(r"\s{2,}", line)[0] for line in shown if re.search(r"  (ok|warning|problem) ", line)}

    made = {check["name"] for check in json.loads(home.run("doctor", "--json"))["checks"]}

    assert names
    assert names <= made


@pytest.mark.thorough
def test_changes_are_told_as_the_page_shows(tmp_path: Path) -> None:
    make_sample_home(tmp_path)
    [shown] = [block for block in page("docs/changes.md").blocks("console") if "$ grader-daemon changes\n" in block]

    printed = Home(tmp_path, at=AT).run("changes").splitlines()

    assert [line for line in shown.splitlines()[1:] if line not in printed] == []


def _output(name: str, command: str) -> list[str]:
    """Return the lines that a page shows below a command."""
    [block] = [block for block in page(name).blocks("console") if f"$ {command}\n" in block]
    return block.partition(f"$ {command}\n")[2].partition("\n\n")[0].splitlines()
