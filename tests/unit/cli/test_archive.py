"""``grade --archive`` that is not begun, or alone; the rest is tried in `tests/e2e/test_archive`."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.e2e.session_files import content, turns
from tests.unit.archive.conftest import tar_of
from tests.unit.cli.conftest import Run


@pytest.mark.parametrize(
    ("options", "says"),
    [
        pytest.param(["nowhere"], "no such file or folder", id="no-archive"),
        pytest.param(["file:///nope"], "grader-daemon: /nope: no such file or folder", id="no-archive-by-address"),
        pytest.param(["--scheduler", "tls://x:1"], "missing argument 'URL'", id="scheduler-alone"),
    ],
)
def test_what_cannot_be_done_is_told_in_a_line(
    home: Path, run: Run, monkeypatch: pytest.MonkeyPatch, options: list[str], says: str
) -> None:
    monkeypatch.setitem(sys.modules, "fsspec.core", None)
    (home / "old").mkdir()

    ended = run(home, "grade", "--archive", *options)

    assert ended.returncode == 2
    assert says in ended.stderr
    assert (ended.stdout, ended.stderr.count("\n")) == ("", 1)


def test_a_folder_and_a_packed_file_need_no_packages(home: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    for package in ("dask", "distributed", "fsspec"):
        monkeypatch.setitem(sys.modules, package, None)
    one, other = "20261101_100000_aaaaa1", "20261101_100000_aaaaa2"
    (home / "old/sessions").mkdir(parents=True)
    (home / f"old/sessions/session_{one}.json").write_bytes(content(one, turns(1)))
    (home / "old.tar.gz").write_bytes(tar_of({f"sessions/session_{other}.json": content(other, turns(2))}))

    folder, packed, two = (
        run(home, "grade", "--archive", *said) for said in (["old"], ["old.tar.gz"], ["old", "--jobs", "2"])
    )

    assert (folder.stdout, folder.returncode) == ("1 graded\n", 0)
    assert (packed.stdout, packed.returncode) == ("1 graded\n", 0)
    assert two.returncode == 2
    assert "archives need the package distributed" in two.stderr
