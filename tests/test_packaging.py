"""What is installed with the program, and how it is made for a release."""

from __future__ import annotations

import os
import runpy
import shutil
import subprocess
import sys
import tomllib
import zipfile
from collections.abc import Iterable, Iterator
from importlib.metadata import distribution
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.needs import require_mkdocs

_ROOT = Path(__file__).parent.parent
_PROJECT = tomllib.loads((_ROOT / "pyproject.toml").read_text("utf-8"))["project"]
_CLIENTS = {"aiohttp", "httpcore", "httpcore2", "httpx", "httpx2", "requests", "urllib3"}
"""What others write programs with that ask the network."""

_MOST_BYTES = 60_000_000


def _installed(needed: Iterable[str], extras: Iterable[str] = ("",)) -> Iterator[str]:
    """Yield what is installed for these requirements, some more than once."""
    for requirement in map(Requirement, needed):
        marker = requirement.marker
        if marker is None or any(marker.evaluate({"extra": extra}) for extra in extras):
            yield canonicalize_name(requirement.name)
            yield from _installed(distribution(requirement.name).requires or (), {"", *requirement.extras})


_DEPENDENCIES = frozenset(_installed(_PROJECT["dependencies"]))


def _bytes(files: Iterable[Path]) -> int:
    """Return what files take; bytecode takes as much as its sources in the mean."""
    kept = (path for path in files if path.suffix != ".pyc" and path.is_file())
    return sum(path.stat().st_size * (2 if path.suffix == ".py" else 1) for path in kept)


def test_the_program_comes_without_a_client_of_http() -> None:
    assert len(_DEPENDENCIES) > 15
    assert _CLIENTS.isdisjoint(_DEPENDENCIES)


def test_the_program_takes_less_than_60_mb() -> None:
    taken = {
        name: _bytes(Path(str(path.locate())) for path in distribution(name).files or ()) for name in _DEPENDENCIES
    }
    taken["grader-daemon"] = _bytes((_ROOT / "grader_daemon").rglob("*"))

    assert (sum(taken.values()) < _MOST_BYTES, taken) == (True, taken)


def _wheel(folder: Path, *, mode: int, time: int) -> Path:
    """Make a wheel of a copy of the sources, whose files have this mode and time."""
    ignored = shutil.ignore_patterns("__pycache__")
    for name in ("grader_daemon", "systemd", "docs/man"):
        shutil.copytree(_ROOT / name, folder / name, ignore=ignored, symlinks=True)
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(_ROOT / name, folder)
    for path in folder.rglob("*"):
        if path.is_file() and not path.is_symlink():
            path.chmod(mode)
            os.utime(path, (time, time))
    build = [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", "made"]
    subprocess.run(build, cwd=folder, check=True, capture_output=True)
    return next((folder / "made").iterdir())


@pytest.mark.thorough
def test_two_builds_of_a_wheel_are_equal_and_whole(tmp_path: Path) -> None:
    one, other = (
        _wheel(tmp_path / name, mode=mode, time=time)
        for name, mode, time in (("a", 0o644, 1_700_000_000), ("another", 0o664, 1_764_000_000))
    )

    assert one.read_bytes() == other.read_bytes()
    names = set(zipfile.ZipFile(one).namelist())
    version = one.name.split("-")[1]
    assert names >= {
        "self_grader.py",
        "grader_daemon/prices/lists.json",
        "grader_daemon/service/grader-daemon.service",
        f"grader_daemon-{version}.data/data/share/man/man1/grader-daemon.1",
    }


def test_the_formula_names_what_is_built_and_where_each_source_is(tmp_path: Path) -> None:
    sdist = tmp_path / "grader_daemon-9.8.7.tar.gz"
    sdist.write_bytes(b"")
    lock = {"packages": [{"name": "h11", "sdist": {"url": "https://h/h11-1.tar.gz", "hashes": {"sha256": "ab12"}}}]}

    made = runpy.run_path(str(_ROOT / ".ci" / "formula.py"))["formula"](lock, sdist)

    assert '/releases/download/v9.8.7/grader_daemon-9.8.7.tar.gz"\n  sha256 "e3b0c44298fc1c149afbf4c8996fb924' in made
    assert '  resource "h11" do\n    url "https://h/h11-1.tar.gz"\n    sha256 "ab12"\n  end' in made


def test_a_release_needs_no_password_and_each_job_has_only_its_rights() -> None:
    text = (_ROOT / ".github" / "workflows" / "release.yml").read_text("utf-8")
    workflow = yaml.safe_load(text)

    assert "secrets." not in text
    assert workflow["permissions"] == {}
    assert {name: [*job["permissions"]] for name, job in workflow["jobs"].items()} == {
        "make": ["contents", "id-token", "attestations"],
        "publish": ["id-token"],
        "page": ["contents"],
    }


def test_where_the_program_lives_is_said_once() -> None:
    """Whoever publishes it elsewhere changes `[project.urls]` alone."""
    place = _PROJECT["urls"]["Source"].removeprefix("https://")
    texts = [*(_ROOT / "grader_daemon").rglob("*.py"), *(_ROOT / "docs").rglob("*.md"), *_ROOT.glob("[A-Za-z]*.*")]

    assert [path.name for path in texts if place in path.read_text("utf-8")] == ["pyproject.toml"]


def test_the_site_is_all_pages_and_no_link_in_it_leads_nowhere(tmp_path: Path) -> None:
    build = [str(require_mkdocs()), "build", "--strict", "--quiet", "--site-dir", str(tmp_path)]
    ended = subprocess.run(build, cwd=_ROOT, capture_output=True, text=True, check=False)

    assert (ended.returncode, ended.stdout + ended.stderr) == (0, "")
    pages = {path.relative_to(_ROOT / "docs").with_suffix("") for path in (_ROOT / "docs").rglob("*.md")}
    assert [page for page in pages if page.name != "README" and not (tmp_path / page / "index.html").exists()] == []
