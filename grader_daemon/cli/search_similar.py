"""``search --similar``: the same request in other sessions, and what became of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import click

from grader_daemon.api.grader import SelfGrader
from grader_daemon.cli import output
from grader_daemon.cli.options import Whole, json_option, reads
from grader_daemon.domain.similar import ModelRecord, Similar, SkillOutcome
from grader_daemon.reports.numbers import BAD_ENDINGS, estimate_words
from grader_daemon.reports.session_words import asked_words, likeness_words
from grader_daemon.reports.verdicts import outcome_words, shares_words

_ENDS: Final[tuple[tuple[str, Callable[[ModelRecord | SkillOutcome], object]], ...]] = (
    ("done", lambda record: record.verdicts.done),
    ("not done", lambda record: record.verdicts.not_done),
    ("unsure", lambda record: record.verdicts.unsure),
    ("bad endings", lambda record: estimate_words(record.ended_badly, BAD_ENDINGS)),
)


@click.command("--similar")
@reads
@click.argument("asked", metavar="ID|TEXT", nargs=-1, required=True)
@click.option(
    "-n", "--limit", type=Whole(min=1), default=10, show_default=True, help="Show at most this many sessions."
)
@json_option
def command(*, asked: tuple[str, ...], grader: SelfGrader, limit: int, as_json: bool) -> None:
    """Show how other sessions with the same task ended.

    Give the beginning of a session's id (one word), or a task (several words). Tasks are nearly the same if they share
    80 % of their words, and all words with a digit.
    """
    found = grader.grades.similar(" ".join(asked), limit=limit)
    output.shown(found, _print, as_json=as_json)


def _print(found: Similar) -> None:
    if not found.sessions:
        output.line(f"Same task {asked_words(found)}.")
        return
    output.facts(
        [
            ("same task", asked_words(found)),
            ("verdicts", shares_words(found.verdicts)),
            ("bad endings", estimate_words(found.ended_badly, BAD_ENDINGS)),
        ]
    )
    output.line()
    output.items(
        found.models, ("model", lambda record: record.model), ("sessions", lambda record: record.sessions), *_ENDS
    )
    if found.skills:
        output.line()
        output.items(
            found.skills,
            ("skill", lambda outcome: outcome.skill),
            ("used in", lambda outcome: outcome.sessions),
            *_ENDS,
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
