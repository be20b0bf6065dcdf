"""``status``: is the daemon up, and how far is it?"""

from __future__ import annotations

from pathlib import Path

import click
import msgspec

from grader_daemon.api.documents import SCHEMA_VERSION
from grader_daemon.api.reader import GradeReader, Status
from grader_daemon.cli import output
from grader_daemon.cli.options import json_option, read_settings, settings_options

_NOT_RUNNING = 3


@click.command("status")
@settings_options
@json_option
def command(*, watch_roots: tuple[Path, ...], db_path: Path | None, as_json: bool) -> int:
    """Show the daemon, its folders, its backlog and what it could not grade. Exit code 3 if it does not run."""
    with GradeReader(settings=read_settings(watch_roots=watch_roots, db_path=db_path)) as grader:
        status = grader.status()
    if as_json:
        output.document({"schema_version": SCHEMA_VERSION, **msgspec.to_builtins(status)})
    else:
        _print(status)
    return 0 if status.running else _NOT_RUNNING


def _print(status: Status) -> None:
    daemon = status.daemon
    watching = daemon.watching if daemon is not None and status.running else {}
    output.facts(
        [
            ("daemon", f"running, pid {status.pid}" if status.running else "not running: grader-daemon run"),
            *((f"root {root}", watching.get(root, "not watched")) for root in status.roots),
            ("database", status.database),
            ("waiting", daemon.backlog if daemon is not None and status.running else None),
            ("last grade", status.last_graded_at),
            ("  after its last write", output.duration(status.lag_seconds)),
            *((f"files {state}", count) for state, count in sorted(status.files.items())),
            *((f"  skipped: {reason}", count) for reason, count in status.skipped.items()),
        ]
    )
    if status.troubled:
        output.line()
        output.table(
            ("file", "state", "tries", "why"),
            [(entry.path, entry.state, entry.attempts, entry.reason) for entry in status.troubled],
        )
