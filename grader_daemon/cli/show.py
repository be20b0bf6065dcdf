"""``show``: everything that is known of one grade, or the session itself."""

from __future__ import annotations

import click
import msgspec

from grader_daemon.api.documents import grade_document
from grader_daemon.api.labels import LabelKeeper
from grader_daemon.cli import output
from grader_daemon.cli.options import Whole, asks, json_option
from grader_daemon.cli.people import people_words
from grader_daemon.domain.feedback import Standing
from grader_daemon.domain.grade import Grade
from grader_daemon.domain.quality import QualityCheck
from grader_daemon.domain.schema import SCHEMA_VERSION
from grader_daemon.domain.verdict import GradeVersion


@click.command("show")
@asks(LabelKeeper)
@click.argument("session_id")
@click.option("--transcript", is_flag=True, help="The session itself as text, with what was found in each message.")
@click.option("--around", type=Whole(min=0), help="Of the transcript, this message and those next to it.")
@json_option
def command(*, session_id: str, grader: LabelKeeper, transcript: bool, around: int | None, as_json: bool) -> None:
    """Show the grade of a session; the beginning of its id is enough."""
    if transcript or around is not None:
        _show_transcript(grader, session_id, around, as_json=as_json)
        return
    stored = grader.find_grade(session_id)
    check = grader.quality_check(stored.grade.session_id)
    if as_json:
        output.document(
            {
                "schema_version": SCHEMA_VERSION,
                "grade": grade_document(stored.grade, stored.id),
                "quality_check": msgspec.to_builtins(check),
            }
        )
    else:
        _print(stored.grade, grader.said_of(stored.grade.session_id), digest=stored.digest, check=check)


def _show_transcript(grader: LabelKeeper, session_id: str, around: int | None, *, as_json: bool) -> None:
    from grader_daemon.api.grader import SelfGrader  # reads sessions, which a grade alone need not wait for
    from grader_daemon.cli.transcript import transcript_lines

    with SelfGrader(settings=grader.settings) as reader:
        told = reader.transcript(session_id, around=around)
    if as_json:
        content = {
            "session_id": told.stored.grade.session_id,
            "total": told.total,
            "note": told.note,
            "messages": told.messages,
        }
        output.document({"schema_version": SCHEMA_VERSION, **content})
    elif around is None:
        output.pages(transcript_lines(told, unfolded=None))
    else:
        for line in transcript_lines(told, unfolded=around):
            output.line(line)


def _print(grade: Grade, said: Standing, *, digest: str | None, check: QualityCheck | None) -> None:
    output.facts(
        [
            ("session", grade.session_id),
            ("task", grade.task_summary),
            ("task type", grade.task_type),
            ("state", f"{grade.state} ({grade.state_reason})"),
            ("task completed", _completed(grade, said, digest)),
            ("  probability", _likely(grade)),
            ("tool efficiency", f"{grade.tool_calls_efficient} of 5"),
            ("response quality", _quality(grade, said, digest)),
            *([("  checked", _checked(check))] if check is not None else []),
            ("errors recovered", grade.errors_recovered),
            ("session score", f"{grade.score:.2f} of 5"),
            ("assistant messages", grade.total_api_calls),
            ("tool calls", grade.tool_calls),
            ("failures", f"{grade.total_errors} ({grade.error_rate:.2f} per assistant message)"),
            ("note", None if said.last is None else said.last.note),
            ("flags", ", ".join(_flags(grade))),
            ("people", ", ".join(people_words(grade))),
            ("model", grade.model),
            ("platform", grade.platform),
            ("started", grade.session_start),
            ("ended", grade.ended_at),
            ("duration", output.duration(grade.duration_seconds)),
            ("graded", grade.graded_at),
            ("graded by", GradeVersion.read(grade.rules_version)),
            ("file", grade.session_file),
        ]
    )
    output.ledger(grade.claims)
    if grade.failures:
        output.line()
        output.failures(grade)


def _completed(grade: Grade, said: Standing, digest: str | None) -> str:
    otherwise = grade.automatic_completed
    still_open = " (open)" if grade.state == "open" else ""
    return output.word(grade.task_completed, said.completed, otherwise=otherwise, digest=digest) + still_open


def _likely(grade: Grade) -> str | None:
    """Say how likely the model finds it that the task was completed, whoever decides."""
    if grade.p_completed is None:
        return None
    is_learned = GradeVersion.read(grade.rules_version).is_learned
    return f"{grade.p_completed:.2f}{'' if is_learned else ' (not calibrated for you yet)'}"


def _quality(grade: Grade, said: Standing, digest: str | None) -> str:
    quality = f"{grade.response_quality} of 5"
    return output.word(quality, said.quality, otherwise=grade.automatic_quality, digest=digest)


def _checked(check: QualityCheck) -> str:
    """Say what a scorer said, and of what it differs: the grade may have been made again since."""
    when = output.cell(check.checked_at)
    if check.quality is None:
        return f"no answer, {when}: {check.error}"
    return f"{check.quality:g} of 5 by {check.scorer}, {when}; {check.discrepancy:g} from the {check.ours} of then"


def _flags(grade: Grade) -> list[str]:
    flags = {
        "repeated errors": grade.had_repeated_errors,
        "loop risk": grade.had_infinite_loop_risk,
        "asked the user": grade.had_user_clarification,
        "the user refused a call": grade.had_user_refusal,
        "a call was interrupted": grade.had_user_interruption,
    }
    return [name for name, is_set in flags.items() if is_set]
