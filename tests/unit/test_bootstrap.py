from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from grader_daemon.analysis.features import DIRECTIONS
from grader_daemon.bootstrap import SOURCES, make_source, policy_maker
from grader_daemon.bootstrap.periodic import make_jobs
from grader_daemon.domain.session_features import FEATURES_VERSION
from grader_daemon.rules.load_prior import load_prior, prior_text
from grader_daemon.setting_sources import ROOTS
from grader_daemon.settings import load_settings
from grader_daemon.storage.sqlite.store import SqliteStore


def test_a_prior_is_read_once(store: SqliteStore, tmp_path: Path) -> None:
    """Files of ours are opened when the daemon begins, not when it may be out of descriptors."""
    path = tmp_path / "prior.json"
    path.write_text(prior_text(load_prior()))
    make_policy = policy_maker(load_settings(calibration_prior=path), store)
    policy = make_policy()

    path.unlink()

    assert make_policy() == policy


def test_the_shipped_prior_reads_the_features_that_there_are() -> None:
    prior = load_prior().prior
    assert (prior.features_version, prior.names) == (FEATURES_VERSION, tuple(DIRECTIONS))


@pytest.mark.parametrize("name", SOURCES)
def test_each_source_is_made_of_its_class_with_its_folders(name: str) -> None:
    given: dict[str, Any] = {ROOTS[name]: ["/runs"]}
    settings = load_settings(timezone="Europe/Berlin", **given)
    source = make_source(name, settings)

    assert (source.name, list(source.roots)) == (name, ["/runs"])


@pytest.mark.parametrize("file", [None, "grader.prom"])
def test_nobody_keeps_metrics_unless_it_is_set(tmp_path: Path, file: str | None) -> None:
    settings = load_settings(db_path=tmp_path / "grades.db", metrics_file=file)
    made = list(make_jobs(settings, is_settled=lambda: True, on_adopted=lambda: None, on_news=lambda: None))
    for _, store, _ in made:
        store.close()
    assert ("metrics" in {job.name for _, _, jobs in made for job in jobs}) is (file is not None)
