"""Comparing stored grades with those of now: how far it is."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest

from grader_daemon import bootstrap
from grader_daemon.domain.unit import Unit
from grader_daemon.pipeline import comparing
from grader_daemon.settings import load_settings
from grader_daemon.storage.sqlite.store import SqliteStore
from tests.strategies import NOW


def test_progress_counts_files_even_if_several_sessions_are_in_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(comparing, "UNITS_AT_ONCE", 2)
    units = [*(Unit("opencode", "/opencode.db", key) for key in "abc"), Unit("hermes", "/session_d.json")]
    done: list[int] = []
    with closing(SqliteStore(tmp_path / "grades.db")) as store:
        settings = load_settings(db_path=tmp_path / "grades.db")
        examiner = bootstrap.make_examiner(settings, bootstrap.make_policy(settings, store))
        comparing.compare_all(units, store=store, examiner=examiner, clock=lambda: NOW, advance=done.append)

    assert sum(done) == 2
