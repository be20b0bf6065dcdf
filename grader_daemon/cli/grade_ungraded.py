"""``grade`` without paths: everything that is not graded yet, with a progress bar."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Final

from grader_daemon.adapters import NOT_PROVIDED
from grader_daemon.api.grader import SelfGrader
from grader_daemon.cli import output
from grader_daemon.cli.outcome_lines import graded_with_progress, is_trouble, tell_outcomes
from grader_daemon.domain.text import clean, count
from grader_daemon.setting_sources import ROOTS

_NAMED: Final = 10
"""As many as one look takes in."""


def grade_ungraded(
    grader: SelfGrader, *, since: datetime | None, source: str | None, jobs: int | None, dry_run: bool, as_json: bool
) -> int:
    """Grade what is not graded yet, or print what would be; return the exit code."""
    if not dry_run:
        grader.migrate()
    files = grader.grading.ungraded_files(since=since, source=source)
    missing = grader.grading.missing_roots() if source is None else []
    for root in missing:
        output.error(f"grader-daemon: {root}: no such folder; the others are searched")
    failed = grader.grading.failed_sources()
    absent = grader.context.settings.sources_not_installed
    for name, error in failed.items():
        if name in absent:
            output.error(f"grader-daemon: {name}: {NOT_PROVIDED}")
            continue
        output.error(f"grader-daemon: files of {name} are left out because of a bug {_of_whom(name)}: {clean(error)}")
    unread = _tell_unread(grader.grading.unread())
    if dry_run:
        _list_files([str(found.unit) for found in files], as_json=as_json)
        return 1 if missing or failed or unread else 0
    outcomes = graded_with_progress("Grading", len(files), grader.grading.backfill(files, jobs=jobs))
    if outcomes or as_json or not unread:
        tell_outcomes(outcomes, as_json=as_json)
    return 1 if missing or failed or unread or is_trouble(outcomes) else 0


def _tell_unread(unread: Mapping[str, str]) -> bool:
    """Print what is left out and why, of many the first; return whether there is anything."""
    for place, why in list(unread.items())[:_NAMED]:
        output.error(clean(f"grader-daemon: {place}: {why}"))
    if len(unread) > _NAMED:
        output.error(f"grader-daemon: {len(unread) - _NAMED:,} more are left out; see: grader-daemon status")
    return bool(unread)


def _list_files(paths: Sequence[str], *, as_json: bool) -> None:
    if as_json:
        output.document(files=paths)
        return
    for path in paths:
        output.line(clean(path))
    output.line(f"{count(len(paths), 'file')} would be graded.")


def _of_whom(source: str) -> str:
    return "in grader-daemon" if source in ROOTS else "in its adapter"
