"""``changes``: what changed in how agents are set up, and whether it mattered."""

from __future__ import annotations

from datetime import datetime

import click

from grader_daemon.api.grader import SelfGrader
from grader_daemon.cli import output
from grader_daemon.cli.options import asks, json_option, since_options
from grader_daemon.cli.times import shown_zone
from grader_daemon.domain.setup_changes import SetupChanges
from grader_daemon.reports.effect_words import basis_words, effect_lines, effect_title, examined_words, unsteady_words
from grader_daemon.reports.safe_text import plain


@click.command("changes")
@asks
@since_options
@json_option
def command(*, grader: SelfGrader, since: datetime | None, as_json: bool) -> None:
    """Show changes in the set-up of agents, and results before and after each, for the last 90 days.

    It finds models, versions, system prompts and tools in sessions, and skills and configuration files on disk. It
    compares only tasks of the same type and platform, so that a different mix of tasks makes no difference.
    """
    changes = grader.setup.changes() if since is None else grader.setup.changes(since)
    output.shown(changes, _print, as_json=as_json)


def _print(changes: SetupChanges) -> None:
    output.line(examined_words(changes))
    for effect in changes.effects:
        output.line()
        output.paragraph("", plain(effect_title(effect)))
        for words in effect_lines(effect, shown_zone()):
            output.paragraph("  ", plain(words))
    basis = basis_words(changes.effects)
    if basis is not None:
        output.line()
        output.paragraph("", basis)
    if not changes.effects:
        output.line("Sessions and files show no changes.")
    if changes.unsteady:
        output.line()
    for each in changes.unsteady:
        output.paragraph("", plain(unsteady_words(each)))
