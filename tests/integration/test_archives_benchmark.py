"""What `python -m tests.benchmarks.archives` says where something is missing."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests import needs
from tests.benchmarks.archives import main


def test_without_object_storage_it_ends_in_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(needs, "_AGENTS", tmp_path)
    monkeypatch.setattr(sys, "argv", ["archives", "--s3"])

    with pytest.raises(SystemExit) as ended:
        main()

    assert ended.value.code == "--s3: no moto is here; .ci/run installs it"
