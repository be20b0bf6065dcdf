"""All that must hold, in one command: ``python -m tests``, or with a word before what goes to pytest.

==============================  ======================================================================================
``python -m tests fast``        while you work: format, lint, types, contracts, and the unit tests with few examples
``python -m tests``             what CI runs: the same and every other test, with coverage; did grading get dearer?
``python -m tests thorough``    before a release: the same with many examples, long histories, and what others released
==============================  ======================================================================================
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

from grader_daemon.system.running import usable_cores
from tests.slow import PLACES

_ROOT = Path(__file__).parent.parent
_CORE = tuple(
    f"grader_daemon.{part}"
    for part in (
        *("domain", "redaction", "analysis", "grading", "calibration", "patterns", "alerts", "reports"),
        *("sources.decoding", "sources.hermes.sharegpt", "sources.hermes.snapshot"),
        *("daemon.debounce", "daemon.scan_plan"),
        *(
            "routing.change_points",
            "routing.choice",
            "routing.model",
            "dashboard.minimap",
            "dashboard.reliability_chart",
        ),
        *("push.exposition", "push.session_metrics"),
        *("skills.setup_effects", "skills.skill_records", "skills.skill_words", "skills.takeovers"),
        "skills.trial_effect",
    )
)
_CORES = usable_cores()
_SECOND_TRY = ("--reruns=1", "--reruns-delay=5", "--max-suite-reruns=5", "--rerun-show-tracebacks")
"""On a machine shared with strangers a process may starve; what passes only then is told at the end, with its trace."""

CHECKS = (
    ("ruff", "format", "--check", "."),
    ("ruff", "check", "."),
    ("mypy",),
    ("lint-imports",),
)
_OF_MACOS = ("mypy", "--platform=darwin", "--cache-dir=.mypy_cache/darwin", "grader_daemon")
_OF_COST = ("python", "-m", "tests.benchmarks.throughput", "--short")
"""Compares CPU time in turns, so that what runs beside it does no harm."""

_COLLECT = ("pytest", "--collect-only", "-qq")
"""Compiles the tests while a core has nothing to check: else each worker does, which takes 22 s of one, not 9."""


class _Run(NamedTuple):
    """One way to run the tests."""

    pytest: tuple[str, ...]
    examples: str
    """The profile of hypothesis; see `tests.examples`."""

    covered: bool
    places: tuple[str, ...] = ()
    """What is run where nothing is named; none is everything."""

    also: tuple[tuple[str, ...], ...] = ()
    """Checks beside the usual ones, where no tests are named."""


_EVERYTHING = ("-n", str(2 + _CORES), "--dist", "loadscope", *_SECOND_TRY)
"""Two workers more than cores: tests of real processes wait more than they work, and mind no busy machine."""

_COVERED = ("-p", "tests.core_coverage", *(f"--cov={module}" for module in _CORE), "--cov-branch", "--cov-report=")
_USUAL = _Run(
    (*_EVERYTHING, "-m", "not releases and not thorough", *_COVERED), examples="usual", covered=True, also=(_OF_COST,)
)
_BY_WORD = {
    "fast": _Run(
        ("-n", str(_CORES), "-p", "no:rerunfailures", "-m", "not slow and not releases and not thorough"),
        examples="few",
        covered=False,
        places=PLACES,
    ),
    "thorough": _Run((*_EVERYTHING, "--timeout=3600"), examples="many", covered=False, also=(_OF_MACOS,)),
}


def main(arguments: list[str]) -> int:
    """Run all checks, then the tests; what fails ends the run."""
    os.chdir(_ROOT)
    run = _BY_WORD.get(arguments[0], _USUAL) if arguments else _USUAL
    given = arguments if run is _USUAL else arguments[1:]
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)  # else each of hundreds of processes compiles what it imports
    if not _hold((*(() if given else run.also), *CHECKS), beside=() if run.places else (_COLLECT,)):
        return 1
    os.environ["HYPOTHESIS_PROFILE"] = run.examples
    places = () if any(Path(each.partition("::")[0]).exists() for each in given) else run.places
    if _call("pytest", *run.pytest, *given, *places):
        return 1
    return _coverage() if run.covered else 0


def _coverage() -> int:
    """Demand all of it of the core, which is what was counted."""
    return _call("coverage", "report", "--fail-under=100", "--skip-covered")


def _hold(checks: Sequence[Sequence[str]], *, beside: Sequence[Sequence[str]]) -> bool:
    """Run checks beside each other, and print what each said; of what runs beside them nobody hears."""
    with ThreadPoolExecutor(_CORES) as pool:
        ended = pool.map(_done, (*checks, *beside))
        failed = [_printed(check, done) for check, done in zip(checks, ended, strict=False)]
    return not any(failed)


def _done(check: Sequence[str]) -> subprocess.CompletedProcess[str]:
    command = [str(Path(sys.executable).parent / check[0]), *check[1:]]
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)


def _printed(check: Sequence[str], done: subprocess.CompletedProcess[str]) -> int:
    print("$", *check, flush=True)
    print(done.stdout, end="", flush=True)
    return done.returncode


def _call(tool: str, *arguments: str) -> int:
    print("$", tool, *arguments, flush=True)
    return subprocess.run([Path(sys.executable).parent / tool, *arguments], check=False).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
