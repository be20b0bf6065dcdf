"""``label``: what a person says of a grade, and taking it back; alone it asks about sessions one by one."""

from __future__ import annotations

from pathlib import Path

import click
import msgspec

from grader_daemon.api.grader import SelfGrader
from grader_daemon.cli import output
from grader_daemon.cli.label_one_by_one import label_one_by_one
from grader_daemon.cli.options import Whole, json_option, reads
from grader_daemon.domain.feedback import Feedback, FeedbackSource, Label
from grader_daemon.domain.grade import Grade
from grader_daemon.reports.verdicts import plain_verdict

_INTERNAL = ("features", "request")
_SHOWN_UNKNOWN = 10
_NOTE_CHARACTERS = 60
_USUAL_NUMBER = 5


@click.command("label")
@reads
@click.argument("session_id", required=False)
@click.option(
    "-n",
    "--limit",
    type=Whole(min=1),
    metavar="N",
    help=f"Without other options: ask about at most N sessions. Default: {_USUAL_NUMBER}.",
)
@click.option("--completed", type=click.Choice(["yes", "no"]), help="Answer whether the task was done.")
@click.option("--quality", type=Whole(1, 5), help="Rate the answer from 1 (worst) to 5 (best).")
@click.option("--note", help="Store your reason with the label.")
@click.option("--csv", "file", type=click.Path(path_type=Path, dir_okay=False), help="Read labels from this file.")
@click.option("--undo", is_flag=True, help="Undo the session's last label.")
@click.option("--list", "listed", is_flag=True, help="List all current labels.")
@json_option
def command(
    *,
    grader: SelfGrader,
    session_id: str | None,
    limit: int | None,
    completed: str | None,
    quality: int | None,
    note: str | None,
    file: Path | None,
    undo: bool,
    listed: bool,
    as_json: bool,
) -> int:
    """Label a session: did it do its task? Your label overrides every automatic verdict.

    Without a session, it shows sessions one by one, and you label each with one key: half are random, half those that
    teach the model most. Without a terminal, it reads the keys from standard input, one per line.

    The beginning of an id is enough. A CSV file needs the columns session_id (full ids) and completed or success (yes
    or no, true or false, 1 or 0). Optional columns: quality (1 to 5) and note.
    """
    says = (completed, quality, note) != (None, None, None)
    ways = {"--csv": file is not None, "--undo": undo, "--list": listed, "a label": says}
    wanted = [name for name, is_wanted in ways.items() if is_wanted]
    if (session_id, as_json, wanted) == (None, False, []):
        label_one_by_one(grader, limit=limit or _USUAL_NUMBER)
        return 0
    if limit is not None:
        raise click.UsageError("-n is for labelling one by one: leave out the rest")
    _refuse_half(wanted, session_id, is_noted_alone=says and (completed, quality) == (None, None))
    if file is not None:
        return _take_file(grader, file, as_json=as_json)
    if listed:
        _list(grader.labels.standing(), as_json=as_json)
    elif undo:
        _tell_undone(grader.labels.undo(session_id or "", source=FeedbackSource.LABEL), as_json=as_json)
    else:
        grader.migrate()
        before = grader.grades.find(session_id or "").grade
        given = grader.labels.add(
            before.session_id,
            completed=None if completed is None else completed == "yes",
            quality=quality,
            note=note,
            source=FeedbackSource.LABEL,
        )
        _tell_given(given, before, as_json=as_json)
    return 0


def _refuse_half(wanted: list[str], session_id: str | None, *, is_noted_alone: bool) -> None:
    """Refuse what is not one thing to do, with all that it needs.

    Raises:
        click.UsageError: it is not.
    """
    if len(wanted) != 1:
        raise click.UsageError("give one of these: --completed or --quality, --undo, --csv or --list")
    if is_noted_alone:
        raise click.UsageError("--note needs --completed or --quality")
    if (session_id is None) != (wanted[0] in ("--csv", "--list")):
        raise click.UsageError(f"{wanted[0]} {'needs a' if session_id is None else 'takes no'} session id")


def _take_file(grader: SelfGrader, file: Path, *, as_json: bool) -> int:
    """Read the labels of a file; exit code 1 if some are of unknown sessions, 2 if a line is wrong."""
    taken = grader.labels.add_file(file)
    if as_json:
        output.document(taken)
    else:
        for line in taken.wrong:
            output.error(line)
        if taken.wrong:
            output.error("Nothing was added.")
        else:
            output.line(f"{taken.added:,} added, {taken.same:,} as before, {len(taken.unknown):,} unknown.")
        for session_id in taken.unknown[:_SHOWN_UNKNOWN]:
            output.error(f"no grade of session {session_id}")
        if len(taken.unknown) > _SHOWN_UNKNOWN:
            output.error(f"and of {len(taken.unknown) - _SHOWN_UNKNOWN:,} more")
    if taken.wrong:
        return 2
    return 1 if taken.unknown else 0


def _list(labels: list[Label], *, as_json: bool) -> None:
    if as_json:
        documents = [msgspec.to_builtins(label) for label in labels]
        shown = [{key: value for key, value in each.items() if key not in _INTERNAL} for each in documents]
        output.document(labels=shown)
    elif labels:
        output.items(
            labels,
            ("session", lambda label: label.session_id),
            ("done", lambda label: label.completed),
            ("quality", lambda label: label.quality),
            ("automatically", lambda label: label.automatic_completed),
            ("by", lambda label: label.given_by),
            ("on", lambda label: label.given_at),
            ("how", _how),
            ("note", lambda label: (label.note or "")[:_NOTE_CHARACTERS]),
        )
    else:
        output.line("No labels yet. Next: grader-daemon label")


def _how(label: Label) -> str:
    by_chance = ", by chance" if label.drawn_at_random else ""
    return f"{label.source}{by_chance}{'; the session continued later' if label.went_on else ''}"


def _tell_given(given: Feedback, before: Grade, *, as_json: bool) -> None:
    """Print a label, and the verdict and quality before it."""
    quality = "" if before.quality is None else f"; quality {before.quality} of 5"
    words = f"{output.cell(given.session_id)}: {output.said(given)}. Before: {plain_verdict(before)}{quality}."
    output.result(words, as_json=as_json, feedback=given)


def _tell_undone(taken_back: Feedback, *, as_json: bool) -> None:
    words = f"{output.cell(taken_back.session_id)}: withdrawn: {output.said(taken_back)}."
    output.result(words, as_json=as_json, taken_back=taken_back)
