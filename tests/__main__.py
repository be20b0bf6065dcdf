"""Everything that must hold, in one command: ``python -m tests``. Arguments go to pytest."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

_ROOT = Path(__file__).parent.parent
_CORE = ",".join(
    f"grader_daemon/{part}"
    for part in (
        *(
            "domain/*",
            "redaction/*",
            "analysis/*",
            "grading/*",
            "calibration/*",
            "patterns/*",
            "alerts/*",
            "reports/*",
        ),
        *("sources/decoding.py", "sources/formats.py", "sources/hermes/sharegpt.py", "sources/hermes/snapshot.py"),
        *("daemon/debounce.py", "daemon/lag.py", "daemon/reconcile.py", "daemon/scan_plan.py", "daemon/schedule.py"),
    )
)
_SPREAD = ("-n", str(2 + len(os.sched_getaffinity(0))), "--dist", "loadgroup")
"""Two workers more than cores: tests of real processes wait more than they work, and mind no busy machine."""

_SECOND_TRY = ("--reruns=1", "--reruns-delay=5", "--max-suite-reruns=5", "--rerun-show-tracebacks")
"""On a machine shared with strangers a process may starve; what passes only then is told at the end, with its trace."""

_CHECKS = (
    ("ruff", "format", "--check", "."),
    ("ruff", "check", "."),
    ("mypy",),
    ("lint-imports",),
)


def main() -> int:
    """Run all checks, then the tests under coverage; the first that fails ends the run."""
    os.chdir(_ROOT)
    for check in _CHECKS:
        if _run(*check):
            return 1
    if _run("pytest", *_SPREAD, *_SECOND_TRY, "--cov", "--cov-report=", *sys.argv[1:]):
        return 1
    _run("coverage", "report", "--skip-covered")
    return _run("coverage", "report", f"--include={_CORE}", "--fail-under=100", "--skip-covered")


def _run(tool: str, *arguments: str) -> int:
    print("$", tool, *arguments, flush=True)
    return subprocess.run([Path(sys.executable).parent / tool, *arguments], check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
