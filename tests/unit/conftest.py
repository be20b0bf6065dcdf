"""Every unit test watches how SQLite goes about the statements that it brings about; and a systemd that is a script."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from grader_daemon.storage.sqlite import database
from tests.begun import UNSYNCED_PRAGMAS, copied_or_migrated
from tests.plans import watched_statements


@pytest.fixture(autouse=True)
def statements_cost_the_same_after_years() -> Iterator[None]:
    """A statement that looks at all of a growing table fails the test; see `tests.plans`."""
    with watched_statements() as found:
        yield
    assert found == []


@pytest.fixture(autouse=True, scope="module")
def databases_begin_as_copies() -> Iterator[None]:
    """Nearly every test begins one; see `tests.begun`."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(database, "migrate", copied_or_migrated)
        patched.setattr(database, "_PRAGMAS", UNSYNCED_PRAGMAS)
        yield


@pytest.fixture
def install_systemd(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Make a home of a person who set nothing, whose systemd is a script that is given."""

    def install(script: str) -> None:
        for name in [name for name in os.environ if name.startswith("GRADER_")]:
            monkeypatch.delenv(name)
        programs = tmp_path / "bin"
        programs.mkdir()
        (programs / "systemctl").write_text(script)
        (programs / "systemctl").chmod(0o755)
        monkeypatch.setenv("PATH", f"{programs}:{os.environ['PATH']}")
        monkeypatch.setenv("HOME", str(tmp_path))

    return install
