"""``grade``: files and folders, now."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from grader_daemon.api.documents import grade_document
from grader_daemon.api.grader import SelfGrader
from grader_daemon.api.grading import GradingResult
from grader_daemon.api.standard_input import NAME as STANDARD_INPUT
from grader_daemon.cli import output
from grader_daemon.cli.grades import grade_table
from grader_daemon.cli.options import asks, json_option
from grader_daemon.cli.source_name import SourceName
from grader_daemon.domain.session import NO_SESSION_KNOWN, SkipReason
from grader_daemon.domain.text import clean
from grader_daemon.errors import InputError

_WORDS: dict[str, str] = {SkipReason.NOT_A_SESSION: NO_SESSION_KNOWN}
"""In place of a reason that does not say enough."""


@click.command("grade")
@asks
@click.argument("paths", nargs=-1, required=True, type=click.Path(path_type=Path, readable=False))
@click.option(
    "--as",
    "source",
    type=SourceName(),
    metavar="SOURCE",
    help="Read the files as sessions of this agent, such as atif or codex.",
)
@json_option
@click.option("--dry-run", is_flag=True, help="Store nothing, and grade as if the database were empty.")
def command(*, grader: SelfGrader, paths: tuple[Path, ...], source: str | None, as_json: bool, dry_run: bool) -> int:
    """Grade session files, or all session files in folders. Exit code 1 if a file cannot be graded.

    With --as, `-` reads one session from standard input (of ATIF, also several). Then nothing is stored.

    The model does not learn from these files, so probabilities are slightly worse than the daemon's.
    """
    if STANDARD_INPUT in map(str, paths):
        result = _of_standard_input(grader, paths, source)
    else:
        result = grader.grading.grade_paths(paths, dry_run=dry_run, source=source)
    if as_json:
        output.document(_document(result))
    else:
        _print(result)
    _tell_faults(grader)
    return 1 if result.errors else 0


def _of_standard_input(grader: SelfGrader, paths: tuple[Path, ...], source: str | None) -> GradingResult:
    if len(paths) > 1:
        raise InputError(
            f"{STANDARD_INPUT} means standard input and must be the only path;"
            f" for a file of that name write ./{STANDARD_INPUT}"
        )
    if source is None:
        raise InputError(
            f"give the agent of the sessions on standard input, for example: grade --as atif {STANDARD_INPUT}"
        )
    most = grader.context.settings.limits.bytes
    content = b"" if sys.stdin is None else sys.stdin.buffer.read(most + 1)
    return grader.grading.grade_content(content, source)


def _document(result: GradingResult) -> dict[str, object]:
    return {
        "grades": [grade_document(grade, row_id, trust=result.trust) for row_id, grade in result.grades],
        "skipped": [{"file": file, "reason": reason} for file, reason in result.skipped],
        "errors": [{"file": file, "error": error} for file, error in result.errors],
    }


def _print(result: GradingResult) -> None:
    if result.grades:
        grade_table(grade for _, grade in result.grades)
    for file, reason in result.skipped:
        output.error(f"skipped {file}: {_WORDS.get(reason, reason)}")
    for file, error in result.errors:
        output.error(f"cannot grade {file}: {error}")


def _tell_faults(grader: SelfGrader) -> None:
    for name, fault in grader.grading.adapter_faults().items():
        output.warning(clean(f"the adapter for {name} fails and reads nothing: {fault}"))
