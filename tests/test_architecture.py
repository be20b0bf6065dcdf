"""The house keeps its shape: the import contracts hold, and each of them notices when it is broken."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

_ROOT = Path(__file__).parent.parent
_LINTER = Path(sys.executable).parent / "lint-imports"

_VIOLATIONS = [
    pytest.param("domain/session.py", "import grader_daemon.sources", id="the-domain-imports-a-stage"),
    pytest.param("sources/decoding.py", "import grader_daemon.analysis", id="a-stage-imports-another"),
    pytest.param("grading/grader.py", "import grader_daemon.storage", id="a-stage-imports-storage"),
    pytest.param("storage/sqlite/store.py", "import grader_daemon.pipeline", id="storage-imports-the-pipeline"),
    pytest.param("daemon/worker.py", "import grader_daemon.api.grades", id="the-daemon-imports-the-api"),
    pytest.param("api/grades.py", "import grader_daemon.cli", id="the-api-imports-the-command-line"),
    pytest.param("analysis/analyzer.py", "import time", id="the-core-imports-a-clock"),
    pytest.param("domain/grade.py", "import structlog", id="the-core-imports-a-log"),
    pytest.param("daemon/debounce.py", "import threading", id="the-debouncer-imports-threads"),
    pytest.param("pipeline/ingest.py", "import apsw", id="sql-outside-of-storage"),
    pytest.param("daemon/service.py", "import watchdog", id="watchdog-outside-of-the-watcher"),
    pytest.param("cli/listing.py", "import grader_daemon.storage", id="a-command-goes-past-the-api"),
    pytest.param("reports/html.py", "import grader_daemon.patterns.groups", id="a-report-mines-patterns"),
    pytest.param("alerts/detector.py", "import time", id="the-detector-imports-a-clock"),
    pytest.param("jobs/weekly.py", "import grader_daemon.daemon.queue", id="a-job-imports-the-daemon"),
    pytest.param("patterns/groups.py", "import apsw", id="patterns-speak-sql"),
    pytest.param("stray.py", "", id="a-file-that-no-layer-names"),
]


def test_contracts_hold() -> None:
    assert _lint(_ROOT) == 0


def test_copy_without_a_violation_passes(tmp_path: Path) -> None:
    _copy_to(tmp_path)

    assert _lint(tmp_path) == 0


@pytest.mark.parametrize(("file", "line"), _VIOLATIONS)
def test_planted_violation_is_caught(tmp_path: Path, file: str, line: str) -> None:
    _copy_to(tmp_path)
    target = tmp_path / "grader_daemon" / file
    before = target.read_text("utf-8") if target.exists() else ""

    target.write_text(f"{before}\n{line}\n", "utf-8")

    assert _lint(tmp_path) == 1


def _copy_to(folder: Path) -> None:
    shutil.copytree(_ROOT / "grader_daemon", folder / "grader_daemon", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(_ROOT / "pyproject.toml", folder)


def _lint(folder: Path) -> int:
    command = [sys.executable, "-P", str(_LINTER), "--no-cache"]
    environment = {"PYTHONPATH": str(folder), "PATH": ""}
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, check=False).returncode
