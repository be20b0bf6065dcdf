from __future__ import annotations

from pathlib import Path

from grader_daemon.bootstrap import policy_maker
from grader_daemon.rules.prior import load_prior, prior_text
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
