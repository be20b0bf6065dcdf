"""``grade``: what is not graded yet, or files and folders, now; its other ways are modules of their own."""

from __future__ import annotations

import re
import sys
from datetime import datetime
from pathlib import Path
from shlex import quote

import click

from grader_daemon.api.documents import grade_document
from grader_daemon.api.grader import SelfGrader
from grader_daemon.api.grading import GradingResult
from grader_daemon.api.standard_input import NAME as STANDARD_INPUT
from grader_daemon.cli import output
from grader_daemon.cli.grade_ungraded import grade_ungraded
from grader_daemon.cli.grades import grade_table
from grader_daemon.cli.groups import CommandWithWays
from grader_daemon.cli.options import asks, jobs_option, json_option, since_options
from grader_daemon.cli.source_name import SourceName
from grader_daemon.domain.session import NO_SESSION_KNOWN, SkipReason
from grader_daemon.domain.text import clean
from grader_daemon.errors import InputError
from grader_daemon.wings import CommandRow, rows_below

_WORDS: dict[str, str] = {SkipReason.NOT_A_SESSION: NO_SESSION_KNOWN}
"""In place of a reason that does not say enough."""
_ADDRESS = re.compile(r"[a-z][a-z0-9+.-]+://", re.IGNORECASE)


@click.command(
    "grade",
    cls=CommandWithWays,
    ways={
        "--again": CommandRow(
            "grader_daemon.cli.grade_again:command", "Update grades made by other rules, or see what would change."
        ),
        **rows_below("grade"),
        "--demo": CommandRow("grader_daemon.cli.grade_demo:command", "Grade a few sample sessions, in ten seconds."),
    },
)
@asks
@click.argument("paths", nargs=-1, type=click.Path(readable=False))
@since_options
@click.option(
    "--source",
    "agent",
    type=SourceName(),
    metavar="SOURCE",
    help="Only sessions of this agent, even if its grading is off.",
)
@jobs_option
@click.option(
    "--as",
    "source",
    type=SourceName(),
    metavar="SOURCE",
    help="Read PATHS as sessions of this agent, such as atif or codex.",
)
@click.option(
    "--dry-run", is_flag=True, help="Store nothing. PATHS are graded as if the database were empty, else files listed."
)
@json_option
def command(
    *,
    grader: SelfGrader,
    paths: tuple[str, ...],
    since: datetime | None,
    agent: str | None,
    jobs: int | None,
    source: str | None,
    dry_run: bool,
    as_json: bool,
) -> int:
    """Grade sessions now; no daemon is needed. Exit code 1 if a file cannot be graded.

    Without PATHS, it grades all sessions in your agents' folders that are not graded yet. You can stop it at any time
    and start it again.

    With PATHS, it grades these session files, and all session files in these folders. The model does not learn from
    them, so probabilities are slightly worse than the daemon's. With --as, `-` reads one session from standard input
    (of ATIF, also several). Then nothing is stored.

    --again, --archive and --demo have options of their own: `grade --again --help`.
    """
    if not paths:
        if source is not None:
            raise click.UsageError("--as needs the files to read; for sessions of one agent give --source")
        return grade_ungraded(grader, since=since, source=agent, jobs=jobs, dry_run=dry_run, as_json=as_json)
    if (since, agent, jobs) != (None, None, None):
        raise click.UsageError("give files and folders, or -d, --since, --source and --jobs, not both")
    _refuse_addresses(paths)
    return _grade_paths(grader, tuple(map(Path, paths)), source, dry_run=dry_run, as_json=as_json)


def _refuse_addresses(paths: tuple[str, ...]) -> None:
    """Refuse what a path would lose a slash of, and is read as an archive.

    Raises:
        InputError: there is one.
    """
    address = next(filter(_ADDRESS.match, paths), None)
    if address is not None:
        raise InputError(f"{address}: an address; to grade an archive: grader-daemon grade --archive {quote(address)}")


def _grade_paths(
    grader: SelfGrader, paths: tuple[Path, ...], source: str | None, *, dry_run: bool, as_json: bool
) -> int:
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
