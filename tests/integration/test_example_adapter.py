"""The example of docs/other-agents.md, built, installed and tested as a package of somebody else's."""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
from pathlib import Path
from zipfile import ZipFile

from tests.adapters import EXAMPLE

_WHEEL = "Wheel-Version: 1.0\nGenerator: tests\nRoot-Is-Purelib: true\nTag: py3-none-any\n"


def built(folder: Path) -> Path:
    """Make the wheel as a build backend does: CI has none beside the tests, and no network."""
    project = tomllib.loads((EXAMPLE / "pyproject.toml").read_text("utf-8"))
    about = project["project"]
    stem = f"{about['name'].replace('-', '_')}-{about['version']}"
    points = about["entry-points"]["grader_daemon.sources"]
    with ZipFile(folder / f"{stem}-py3-none-any.whl", "w") as wheel:
        for name in project["tool"]["hatch"]["build"]["targets"]["wheel"]["include"]:
            wheel.write(EXAMPLE / name, name)
        wheel.writestr(
            f"{stem}.dist-info/METADATA", f"Metadata-Version: 2.1\nName: {about['name']}\nVersion: {about['version']}\n"
        )
        wheel.writestr(f"{stem}.dist-info/WHEEL", _WHEEL)
        wheel.writestr(
            f"{stem}.dist-info/entry_points.txt",
            "".join(["[grader_daemon.sources]\n", *(f"{name} = {place}\n" for name, place in points.items())]),
        )
    return folder / f"{stem}-py3-none-any.whl"


def test_the_example_of_an_adapter_is_installed_and_its_tests_pass(tmp_path: Path) -> None:
    site, tests = tmp_path / "site", tmp_path / "tests"
    with ZipFile(built(tmp_path)) as wheel:
        wheel.extractall(site)  # which is all that installing a pure wheel is
    tests.mkdir()
    (tests / "test_acme_grader.py").write_bytes((EXAMPLE / "test_acme_grader.py").read_bytes())
    (tests / "pytest.ini").write_text("[pytest]\naddopts = -p no:cacheprovider\n")

    ended = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "--basetemp", str(tmp_path / "temp")],
        cwd=tests,
        env={**os.environ, "PYTHONPATH": os.pathsep.join((str(site), str(EXAMPLE.parents[2])))},
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )

    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert " passed" in ended.stdout


def test_it_is_as_short_as_the_page_says() -> None:
    assert len((EXAMPLE / "acme_grader.py").read_text("utf-8").splitlines()) <= 150
