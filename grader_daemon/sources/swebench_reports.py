"""Verdicts of the SWE-bench harness on the runs of an evaluation, as it leaves them in files.

Of a single run ``report.json`` says whether it resolved its task; of all together a report with lists of their names,
``<model>.<run>.json``, which is put beside the runs. They come after the runs. A verdict is a reward: 1 or 0.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import islice

import msgspec

from grader_daemon.domain.limits import Limits
from grader_daemon.domain.unit import Stamp
from grader_daemon.errors import GraderError
from grader_daemon.sources.file_reading import look_at, read_as_is, stamp_of

REPORT = "report.json"
_LOGS = "logs/run_evaluation"
_LIMITS = Limits(bytes=10_000_000)
_MOST_REPORTS = 20
"""Most reports beside a run that are looked into, by name; there is one for each evaluation of it."""


class _Verdict(msgspec.Struct, frozen=True):
    resolved: bool | None = None


class _Lists(msgspec.Struct, frozen=True):
    """Names of tasks: what ended in an error, or in one of the machinery, was not judged."""

    resolved_ids: frozenset[str]
    unresolved_ids: frozenset[str] = frozenset()
    empty_patch_ids: frozenset[str] = frozenset()
    error_ids: frozenset[str] = frozenset()
    infra_failure_ids: frozenset[str] = frozenset()

    def reward_of(self, task: str) -> float | None:
        """Return the reward of a task; None where it was not judged."""
        if task in self.resolved_ids:
            return 1.0
        if task in self.error_ids or task in self.infra_failure_ids:
            return None
        return 0.0 if task in self.unresolved_ids or task in self.empty_patch_ids else None


_ONE = msgspec.json.Decoder(dict[str, _Verdict]).decode
_ALL = msgspec.json.Decoder(_Lists).decode
_NAMES_ALL = b'"resolved_ids"'
_UNREADABLE = (GraderError, msgspec.DecodeError, UnicodeDecodeError, RecursionError)


def reports_beside(folder: str, task: str, *, run: str) -> list[str]:
    """Return the paths of files that may say something of a task.

    Args:
        folder: of the task.
        task: its name.
        run: the folder of the whole evaluation, which may be the same.
    """
    own = [os.path.join(folder, REPORT)] if folder != run else []
    return [*own, *(os.path.join(logs, task, REPORT) for logs in _listed_logs(run)), *_names_in(run, _stamp_of(run))]


def reward_of(reports: Sequence[str], task: str, roots: Sequence[str]) -> float | None:
    """Return the reward of a task; None where none of the reports judges it, and where they contradict each other."""
    said = {_said(path, task, tuple(roots)) for path in reports} - {None}
    return said.pop() if len(said) == 1 else None


def stamps_of(reports: Sequence[str]) -> Iterator[bytes]:
    """Yield what tells each report that is there from others."""
    for path in reports:
        try:
            yield path.encode("utf-8", "surrogateescape") + stamp_of(os.lstat(path))
        except OSError:
            continue


def _said(path: str, task: str, roots: tuple[str, ...]) -> float | None:
    try:
        report = _read(path, stamp_of(look_at(path)), roots)
    except _UNREADABLE:
        return None  # not there, of another kind, or not whole yet: then its stamp changes when it is
    if isinstance(report, _Lists):
        return report.reward_of(task)
    verdict = report.get(task)
    return None if verdict is None or verdict.resolved is None else float(verdict.resolved)


@lru_cache(maxsize=64)
def _read(path: str, _: Stamp, roots: tuple[str, ...]) -> _Lists | dict[str, _Verdict]:
    """Return a report of this stamp; that on all runs is asked for by each of them.

    Raises:
        GraderError, msgspec.DecodeError, UnicodeDecodeError, RecursionError: it is none.
    """
    content = read_as_is(path, limits=_LIMITS, roots=roots)
    return _ALL(content) if _NAMES_ALL in content else _ONE(content)


def _listed_logs(run: str) -> Iterator[str]:
    """Yield the folders of each model in each evaluation whose logs lie in the run's folder."""
    logs = os.path.join(run, _LOGS)
    for evaluation in _folders_in(logs, _stamp_of(logs)):
        yield from _folders_in(evaluation, _stamp_of(evaluation))


def _stamp_of(folder: str) -> Stamp:
    try:
        return stamp_of(os.lstat(folder))
    except OSError:
        return b""


@lru_cache(maxsize=256)
def _names_in(run: str, _: Stamp) -> tuple[str, ...]:
    """Return the paths of reports in a folder of this stamp."""
    names = (entry.name for entry in _entries(run) if _is_report(entry.name))
    return tuple(os.path.join(run, name) for name in islice(sorted(names), _MOST_REPORTS))


@lru_cache(maxsize=256)
def _folders_in(folder: str, stamp: Stamp) -> tuple[str, ...]:
    if not stamp:
        return ()
    found = sorted(entry.path for entry in _entries(folder) if entry.is_dir(follow_symlinks=False))
    return tuple(found[:_MOST_REPORTS])


def _entries(folder: str) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            return list(entries)
    except OSError:
        return []


def _is_report(name: str) -> bool:
    return name.endswith(".json") and not name.endswith(".traj.json") and name != "preds.json"
