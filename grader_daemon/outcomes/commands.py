"""``report outcomes``: what became of the work of sessions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from datetime import datetime

import click
import msgspec

from grader_daemon.api.doctor.check_words import some
from grader_daemon.api.grader import SelfGrader
from grader_daemon.cli import output
from grader_daemon.cli.options import json_option, reads
from grader_daemon.domain.text import clean, count
from grader_daemon.errors import InputError
from grader_daemon.outcomes.model import HIDDEN, SeenFate
from grader_daemon.outcomes.store import Followed, OutcomesTable
from grader_daemon.outcomes.words import told_words
from grader_daemon.reports.work_words import worth_words

_MOST: int = 100


class SessionOutcome(msgspec.Struct, frozen=True, kw_only=True):
    """Work of a session and its fate.

    Attributes:
        session_id: the session's id.
        ended_at: when it ended.
        repository: the folder of its work tree; None if not in git.
        wrote: number of lines it wrote with editing tools, as far as they can be recognised.
        followed: number of its lines that are followed: only new ones, at most 400.
        is_reverted: whether most of the lines in its commits were reverted, and not restored.
        fate: the observed fate of the work.
    """

    session_id: str
    ended_at: datetime
    repository: str | None
    wrote: int
    followed: int
    is_reverted: bool
    fate: SeenFate


@click.command("outcomes")
@reads
@click.argument("session_id", required=False)
@json_option
def command(*, session_id: str | None, grader: SelfGrader, as_json: bool) -> None:
    """Show what became of a session's work in git and on disk. Without an id, it shows the last 100 sessions."""
    table = OutcomesTable(grader.context.store)
    found = table.every(_MOST) if session_id is None else [_of(grader, table, session_id)]
    worth = table.worth() if session_id is None else ()
    if as_json:
        output.document(sessions=[_outcome(each) for each in found], worth=worth)
    elif not found:
        output.line("Nothing is known yet: the daemon checks each session an hour after its end.")
    elif session_id is None:
        _print_all(found)
    else:
        _print_each(found)
    if worth and not as_json:
        output.paragraph("By labels and rewards: ", f"{worth_words(worth)}.")


def _print_all(found: Sequence[Followed]) -> None:
    """Show sessions of whose work something is known, then how many others there are, and which folders are hidden."""
    hidden = Counter(each.fate.trouble for each in found if _is_hidden(each))
    nothing = sum(not told_words(each) for each in found)
    _print_each([each for each in found if told_words(each) and not _is_hidden(each)])
    if nothing:
        output.line(f"{count(nothing, 'session')} with nothing to follow")
    if hidden:
        folders = [output.from_home(str(trouble).removesuffix(HIDDEN)) for trouble, _ in hidden.most_common()]
        said = f"{count(hidden.total(), 'session')} not seen, because {count(len(hidden), 'folder is', 'folders are')}"
        output.paragraph("", f"{said} not there, or hidden from the service: {clean(some(folders))}")


def _is_hidden(each: Followed) -> bool:
    """Return whether nothing is known of a session because its folder cannot be seen."""
    return (each.fate.trouble or "").endswith(HIDDEN) and len(told_words(each)) == 1


def _print_each(found: Sequence[Followed]) -> None:
    for each in found:
        lines = told_words(each)
        output.line(f"{output.cell(each.session_id)}{'' if lines else ': nothing to follow'}")
        for about, told in lines:
            output.paragraph(f"  {about}: ", clean(told))


def _of(grader: SelfGrader, table: OutcomesTable, session_id: str) -> Followed:
    known = grader.grades.find(session_id).grade.session_id
    found = table.of_session(known)
    if found is None:
        raise InputError(f"session {known!r}: what became of its work has not been checked yet")
    return found


def _outcome(each: Followed) -> SessionOutcome:
    return SessionOutcome(
        session_id=each.session_id,
        ended_at=each.work.ended,
        repository=each.repository,
        wrote=each.work.wrote,
        followed=sum(len(file.lines) for file in each.work.files),
        is_reverted=each.fate.is_reverted,
        fate=each.fate,
    )
