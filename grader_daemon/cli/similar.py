"""``similar``: the same request in other sessions, and what became of it."""

from __future__ import annotations

import click

from grader_daemon.api.grader import SelfGrader
from grader_daemon.cli import output
from grader_daemon.cli.options import Whole, json_option, reads
from grader_daemon.domain.similar import Similar
from grader_daemon.reports.numbers import COMPLETION, estimate_words
from grader_daemon.reports.other_sessions import asked_words, completed_words, likeness_words, parting_words
from grader_daemon.reports.safe_text import plain
from grader_daemon.reports.verdicts import outcome_words


@click.command("similar")
@reads
@click.argument("asked", metavar="ID|TEXT", nargs=-1, required=True)
@click.option("-n", "--limit", type=Whole(min=1), default=10, show_default=True, help="Name at most so many sessions.")
@json_option
def command(*, asked: tuple[str, ...], grader: SelfGrader, limit: int, as_json: bool) -> None:
    """Show what became of the same request in other sessions.

    One word is the beginning of the id of a session, several are a request. Nearly the same are requests that share 80
    % of their words, and all words with a digit.
    """
    found = grader.grades.similar(" ".join(asked), limit=limit)
    if as_json:
        output.document(found)
    else:
        _print(found)


def _print(found: Similar) -> None:
    if not found.sessions:
        output.line(f"Asked for {asked_words(found)}.")
        return
    output.facts(
        [
            ("asked for", asked_words(found)),
            ("done", completed_words(found)),
            ("first difference", plain(parting_words(found))),
        ]
    )
    output.line()
    output.items(
        found.models,
        ("model", lambda record: record.model),
        ("sessions", lambda record: record.sessions),
        ("done", lambda record: estimate_words(record.completion, COMPLETION)),
    )
    if found.skills:
        output.line()
        output.items(
            found.skills,
            ("skill", lambda outcome: outcome.skill),
            ("used in", lambda outcome: outcome.sessions),
            ("done", lambda outcome: estimate_words(outcome.completion, COMPLETION)),
        )
    output.line()
    output.items(
        found.sessions,
        ("ended", lambda session: session.ended_at),
        ("session", lambda session: session.session_id),
        ("request", likeness_words),
        ("model", lambda session: session.model),
        ("verdict", lambda session: outcome_words(session.outcome)),
        may_drop=("model", "request"),
    )
