"""Grades as they stand in JSON documents."""

from __future__ import annotations

from typing import Any, Final

import msgspec

from grader_daemon.domain.calibration import Calibration, Trust
from grader_daemon.domain.grade import Grade
from grader_daemon.reports.verdicts import verdict_words

_LAST = ("ended_at", "ended_on", "error_rate", "had_user_refusal", "had_user_interruption", "state_reason", "tools")

_INTERNAL = ("features", "request")
GRADE_NAMES: Final = (
    *(name for name in Grade.__struct_fields__ if name not in {*_INTERNAL, *_LAST}),
    *_LAST,
    "outcome",
    "verdict",
    "score",
)
"""The names of a grade in JSON documents, in their order; `id` stands before them where it is stored."""

_AUTOMATIC = ("automatic_completed", "automatic_quality")


def grade_document(grade: Grade, row_id: int | None, *, trust: Trust) -> dict[str, Any]:
    """Give a grade as it stands in JSON documents: the columns of `session_grades`, then the details.

    What is not known of a session that was not scored is None. `verdict` says all of the verdict in a sentence.
    """
    document = {} if row_id is None else {"id": row_id}
    fields = msgspec.to_builtins(grade)
    fields["failures"] = failure_documents(grade)
    for name in _INTERNAL:
        del fields[name]
    for name in _LAST:
        fields[name] = fields.pop(name)
    fields |= {"task_completed": grade.completed, "tool_calls_efficient": grade.efficiency}
    fields |= {"response_quality": grade.quality, "errors_recovered": grade.recovered}
    if not grade.scored:
        fields |= dict.fromkeys(_AUTOMATIC)
    score = None if grade.score is None else round(grade.score, 4)
    told = {"outcome": grade.outcome, "verdict": verdict_words(grade, trust), "score": score}
    return {**document, **fields, **told}


def calibration_document(made: Calibration) -> dict[str, Any]:
    """Give a calibration as it stands in JSON documents: its model by name, whose numbers say nothing to a person."""
    return {**msgspec.to_builtins(made), "model": made.model.version}


def failure_documents(grade: Grade) -> list[dict[str, Any]]:
    """Give the failures of a grade, probes too, as they stand in JSON documents."""
    return [
        {"index": failure.index, "tool": failure.tool, "category": failure.category, "kind": failure.kind}
        for failure in grade.failures
    ]
