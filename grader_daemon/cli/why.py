"""``why``: the reasons of a grade, with the messages that prove them."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from operator import itemgetter

import click

from grader_daemon.api.context import told_beside
from grader_daemon.api.documents import explanation_document
from grader_daemon.api.explanation import Explanation
from grader_daemon.api.grader import SelfGrader
from grader_daemon.cli import output
from grader_daemon.cli.grades import people_words
from grader_daemon.cli.options import json_option, reads
from grader_daemon.domain.calibration import Trust
from grader_daemon.domain.feedback import Standing
from grader_daemon.domain.grade import Grade, Reason
from grader_daemon.domain.text import clean
from grader_daemon.reports.numbers import COMPLETION, value_words
from grader_daemon.reports.session_words import (
    NOT_ALLOWED,
    effect_words,
    feature_words,
    likely_note,
    messages_words,
    moved_words,
    reason_words,
)

_TASK = "task_completed"
_OF_RECORD = frozenset({"ending", "standing"})


@click.command("why")
@reads
@click.argument("session_id")
@json_option
def command(*, session_id: str, grader: SelfGrader, as_json: bool) -> None:
    """Show why a session has its grade; the beginning of its id is enough."""
    explanation = grader.grades.explain(session_id)
    if as_json:
        output.document(explanation_document(explanation, trust=grader.grades.trust()))
    else:
        grade = explanation.stored.grade
        _print(explanation, grader.labels.of(grade.session_id), grader.grades.trust())
        _print_beside(told_beside(grader.context, grade))


def _print(explanation: Explanation, said: Standing, trust: Trust) -> None:
    grade = explanation.stored.grade
    output.paragraph(f"{output.cell(grade.session_id)}: ", output.cell(grade.task_summary))
    told = [
        reason
        for reason in grade.reasons
        if grade.has_scores or reason.score in _OF_RECORD or (grade.scored and reason.score == _TASK)
    ]
    _print_unexplained(explanation, said, trust, explained={reason.score for reason in told})
    for score, reasons in groupby(told, key=lambda reason: reason.score):
        output.line()
        output.paragraph(f"{score} = ", _value(explanation, said, trust, score))
        for reason in reasons:
            meaning = reason_words(reason, explanation.sentences[reason.rule], grade)
            output.paragraph(f"  {effect_words(reason):>7}  ", f"{reason.rule}: {meaning}{_where(reason)}")
    _print_likely(explanation)
    if people := people_words(grade):
        output.line()
        output.paragraph("people: ", clean(", ".join(people)))
    if not grade.reasons:
        output.line("Graded by another program, which stored no reasons.")
    output.ledger(grade.claims)
    _print_evidence(explanation)
    if explanation.note:
        output.line()
        output.paragraph("", clean(explanation.note))
    _print_state(grade)


def _print_likely(explanation: Explanation) -> None:
    """Print how likely the model finds that the task was done, and what moved that most, in percentage points."""
    likely = explanation.stored.grade.p_completed
    if likely is None:
        return
    output.line()
    output.line(f"probability = {value_words(likely, COMPLETION)}")
    if note := likely_note(explanation.stored.grade):
        output.paragraph("", note)
    if explanation.effects:
        output.paragraph("", "Strongest influences, in percentage points, compared with an average public session:")
    for effect in explanation.effects:
        text = feature_words(output.cell(effect.name), effect.value, effect.meaning, effect.above)
        output.paragraph(f"  {moved_words(likely, effect.log_odds):>3}  ", text)


def _print_unexplained(explanation: Explanation, said: Standing, trust: Trust, *, explained: set[str]) -> None:
    """Show what a person said of a score on which no rule spoke, and that there is nothing to judge, if so."""
    is_dead = not explanation.stored.grade.scored
    for score, is_told in ((_TASK, is_dead or said.completed), ("response_quality", said.quality)):
        if is_told and score not in explained:
            output.line()
            output.paragraph(f"{score} = ", _value(explanation, said, trust, score))


def _print_evidence(explanation: Explanation) -> None:
    if explanation.stored.grade.failures:
        output.line()
        output.failures(explanation.stored.grade)
    if explanation.refused:
        output.line()
        output.paragraph("refused: ", f"{NOT_ALLOWED}, which is no error ({messages_words(explanation.refused)})")
    if explanation.excerpts:
        output.line()
        for text, same in groupby(explanation.excerpts.items(), key=itemgetter(1)):
            output.paragraph("  ", f"{messages_words([index for index, _ in same])}: {text}")
        told = output.cell(explanation.stored.grade.session_id)
        output.paragraph("", f"More of message N: grader-daemon show {told} --around N")


def _print_beside(beside: Sequence[tuple[str, str]]) -> None:
    if beside:
        output.line()
        for about, told in beside:
            output.paragraph(f"{about}: ", clean(told))


def _print_state(grade: Grade) -> None:
    if grade.state != "complete":
        output.line()
        output.paragraph("", f"The session is {grade.state}: {clean(grade.state_reason)}.")


def _value(explanation: Explanation, said: Standing, trust: Trust, score: str) -> str:
    """Return what a score is, and what it would be if no person had said otherwise: that is what the rules explain."""
    grade, digest = explanation.stored.grade, explanation.stored.digest
    match score:
        case "task_completed":
            return output.verdict(grade, trust, said, digest=digest)
        case "response_quality":
            return output.word(grade.response_quality, said.quality, otherwise=grade.automatic_quality, digest=digest)
        case "errors_recovered" if grade.total_errors:
            return f"{output.cell(grade.recovered)}, judged by any call after the last failed one"
        case "ending" | "standing":
            return output.cell(getattr(grade, score)).replace("_", " ")
        case _:
            return output.cell(getattr(grade, score))


def _where(reason: Reason) -> str:
    return f" ({messages_words(reason.messages)})" if reason.messages else ""
