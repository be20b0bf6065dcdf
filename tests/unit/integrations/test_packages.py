from __future__ import annotations

import sys
import tomllib
from pathlib import Path

import pytest

from grader_daemon.integrations import packages
from grader_daemon.integrations.packages import EXTRAS, how_to_add

PYPROJECT = Path(__file__).parents[3] / "pyproject.toml"


def test_extras_need_what_the_package_says() -> None:
    declared = tomllib.loads(PYPROJECT.read_text("utf-8"))["project"]["optional-dependencies"]

    assert {name: tuple(declared[name]) for name in EXTRAS} == EXTRAS


@pytest.mark.parametrize(
    ("mark", "command"),
    [
        pytest.param("pipx_metadata.json", "pipx inject grader-daemon 'psycopg[binary]>=3.2'", id="pipx"),
        pytest.param(
            "uv-receipt.toml", f"uv pip install --python {sys.executable} 'psycopg[binary]>=3.2'", id="uv-tool"
        ),
        pytest.param("pyvenv.cfg", f"{sys.executable} -m pip install 'psycopg[binary]>=3.2'", id="pip"),
    ],
)
def test_the_command_is_of_whatever_made_the_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mark: str, command: str
) -> None:
    place = tmp_path / "grader-daemon"
    place.mkdir()
    (place / mark).touch()
    monkeypatch.setattr(packages, "find_spec", lambda _: object())

    assert how_to_add(*EXTRAS["fleet"], prefix=place) == command


def test_where_there_is_no_pip_it_is_uv(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packages, "find_spec", lambda _: None)
    monkeypatch.setattr("shutil.which", lambda _: "/usr/bin/uv")

    assert how_to_add("pandas", prefix=tmp_path) == f"uv pip install --python {sys.executable} pandas"
