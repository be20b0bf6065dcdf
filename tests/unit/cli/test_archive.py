"""``archive`` that is not begun; the rest is tried in `tests/e2e/test_archive`."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.unit.cli.conftest import Run


@pytest.mark.parametrize(
    ("options", "says"),
    [
        pytest.param(["nowhere"], "no such file or folder", id="no-archive"),
        pytest.param(["--scheduler", "tls://x:1"], "missing argument 'URL'", id="scheduler-alone"),
    ],
)
def test_what_cannot_be_done_is_told_in_a_line(home: Path, run: Run, options: list[str], says: str) -> None:
    (home / "old").mkdir()

    ended = run(home, "archive", *options)

    assert ended.returncode == 2
    assert says in ended.stderr
    assert (ended.stdout, ended.stderr.count("\n")) == ("", 1)
