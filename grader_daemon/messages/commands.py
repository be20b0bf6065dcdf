"""``search``: what was written in sessions, with their verdicts."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import timedelta
from typing import Final

import click

from grader_daemon.api.context import GraderContext
from grader_daemon.api.grader import SelfGrader
from grader_daemon.cli import output
from grader_daemon.cli.grades import titles
from grader_daemon.cli.groups import CommandWithWays
from grader_daemon.cli.options import Whole, Words, asks, json_option
from grader_daemon.domain.grade import Grade
from grader_daemon.domain.message_search import FoundMessages, MessageHit
from grader_daemon.domain.text import clean, count
from grader_daemon.domain.verdict import Outcome
from grader_daemon.errors import InputError
from grader_daemon.messages.found import Messages
from grader_daemon.messages.store import sessions_since
from grader_daemon.reports.money import usd_words
from grader_daemon.reports.safe_text import cut
from grader_daemon.reports.verdicts import outcome_words
from grader_daemon.wings import CommandRow

_USUAL_DAYS = 92

_TASK_COLUMNS: Final = 70
"""Columns of a task beside its hit: one line of a narrow terminal."""
_LOOKED_AT: Final = 200
_OF_A_BYTE: Final = 0.5
"""Bytes of the index for one of a session's file: see docs/message-search.md."""
_LEAST: Final = 2_000


@click.command(
    "search",
    cls=CommandWithWays,
    ways={
        "--similar": CommandRow(
            "grader_daemon.cli.search_similar:command", "Find sessions with the same task, and how they ended."
        )
    },
)
@asks
@click.argument("words", nargs=-1)
@click.option(
    "-n",
    "--limit",
    type=Whole(min=1, max=1_000),
    default=20,
    show_default=True,
    help="Show at most this many messages.",
)
@click.option("--days", type=Whole(min=1), help="Only sessions that ended in the last DAYS days.")
@click.option("--verdict", type=Words([each.value for each in Outcome]), help="Only sessions with this verdict.")
@click.option("--model", help="Only sessions with this model.")
@click.option("--project", help="Only sessions in this folder.")
@json_option
def command(
    *,
    grader: SelfGrader,
    words: tuple[str, ...],
    limit: int,
    days: int | None,
    verdict: str | None,
    model: str | None,
    project: str | None,
    as_json: bool,
) -> None:
    """Find words in messages, and see how their sessions ended: `search alembic upgrade`, `search '"disk full"'`.

    One message must contain all words, or words that begin with them. Double quotes search for a phrase.

    `search --similar ID|TEXT` finds sessions by their task, without an index; see `search --similar --help`.
    """
    messages = Messages(grader.context)
    if not messages.is_on:
        raise InputError(_how_to_turn_on(grader))
    if not words:
        raise InputError("give the words to search for: grader-daemon search alembic upgrade")
    keep = _keeping(grader, days=days, verdict=verdict, model=model, project=project)
    found = messages.find(" ".join(words), limit=limit, keep=keep)
    if as_json:
        output.document(found)
        return
    tasks = titles(hit.task_summary for hit in found.hits)
    for hit, task in zip(found.hits, tasks, strict=True):
        _tell(grader, hit, task)
    output.paragraph("", " ".join(_ending(found)))


def _keeping(
    grader: SelfGrader, *, days: int | None, verdict: str | None, model: str | None, project: str | None
) -> Callable[[Grade], bool]:
    since = None if days is None else grader.context.now() - timedelta(days=days)

    def keep(grade: Grade) -> bool:
        return (
            (since is None or (grade.ended_at or grade.graded_at) >= since)
            and (verdict is None or grade.outcome == verdict)
            and (model is None or grade.model == model)
            and (project is None or grade.project == project)
        )

    return keep


def _tell(grader: SelfGrader, hit: MessageHit, task: str) -> None:
    about = [outcome_words(hit.outcome), f"{hit.errors:,} failed" if hit.errors else None]
    about += [f"{hit.contradicted} contradicted" if hit.contradicted else None]
    about += [None if hit.cost_usd is None else usd_words(hit.cost_usd), hit.model]
    told = ", ".join(clean(each) for each in about if each)
    output.line(f"{output.cell(grader.grades.short_id(hit.session_id))} message {hit.index}  {told}")
    output.paragraph("  task: ", cut(task, _TASK_COLUMNS))
    output.paragraph("  ", hit.excerpt or "its file is gone or cannot be read")


def _ending(found: FoundMessages) -> Iterator[str]:
    """Yield sentences on what was found where."""
    if not found.hits:
        yield "No message found."
    if found.is_more:
        yield f"{len(found.hits):,} shown; show more with -n."
    yield f"{count(found.sessions, 'session')} searched."
    if found.waiting:
        verb = "is" if found.waiting == 1 else "are"
        yield (
            f"{count(found.waiting, 'session')} {verb} not indexed yet; the daemon does it (grader-daemon status)."
            " To start it: grader-daemon run"
        )


def _how_to_turn_on(grader: SelfGrader) -> str:
    size, sessions = _expected_bytes(grader.context, days=_USUAL_DAYS)
    takes = f"about {size / 1e6:,.0f} MB for {count(sessions, 'session')} of {_USUAL_DAYS} days"
    return (
        f"message search is off. Turn it on: grader-daemon config set message_search_days {_USUAL_DAYS}, then restart"
        f" the daemon. The index needs {takes}; setting 0 deletes it"
    )


def _expected_bytes(context: GraderContext, *, days: int) -> tuple[int, int]:
    """Return about how many bytes the index of so many days would have, and of how many sessions.

    Raises:
        NoDatabaseError: nothing was graded yet.
    """
    rows = sessions_since(context.store, context.now() - timedelta(days=days))
    looked_at = [path for _, _, path in rows[:_LOOKED_AT]]
    written = sum(map(_size, set(looked_at)))  # one file may hold many sessions
    each = max(_LEAST, _OF_A_BYTE * written / len(looked_at)) if looked_at else 0
    return int(each * len(rows)), len(rows)


def _size(path: str) -> int:
    with suppress(OSError, ValueError):
        return os.stat(path).st_size
    return 0
