"""The names of the original design, as a wheel and an editable installation have them."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

_ROOT = Path(__file__).parents[2]
_PLACES = tomllib.loads((_ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["hatch"]["build"]["targets"]["wheel"]


@pytest.fixture
def installed(tmp_path: Path) -> dict[str, str]:
    """The environment of a program that finds what is put beside the package."""
    for source, target in _PLACES["force-include"].items():
        shutil.copy(_ROOT / source, tmp_path / target)
    (tmp_path / "home").mkdir()
    path = os.pathsep.join([str(tmp_path), str(_ROOT), *filter(None, sys.path)])
    return {"PATH": os.environ["PATH"], "HOME": str(tmp_path / "home"), "PYTHONPATH": path}


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        pytest.param(["-m", "self_grader", "-g", "10"], "No ungraded sessions.", id="run"),
        pytest.param(
            ["-c", "from self_grader import SelfGrader; print(SelfGrader.__module__)"],
            "grader_daemon.api.grader",
            id="imported",
        ),
    ],
)
def test_the_names_of_the_original_design_work(installed: dict[str, str], arguments: list[str], told: str) -> None:
    ended = subprocess.run(
        [sys.executable, *arguments], env=installed, cwd=installed["HOME"], capture_output=True, text=True, check=False
    )

    assert (ended.returncode, ended.stdout.strip(), ended.stderr) == (0, told, "")
