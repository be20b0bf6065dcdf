"""Results as JSON documents, as plain dictionaries and as tables: for programs that want no classes of ours."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import date, datetime
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final, TypedDict

import msgspec

from grader_daemon.domain.alert import Alert, Stream
from grader_daemon.domain.analysis import Category, FailureKind, Subcategory
from grader_daemon.domain.calibration import Calibration, Trust
from grader_daemon.domain.grade import Grade
from grader_daemon.errors import InputError
from grader_daemon.integrations.packages import how_to_add
from grader_daemon.reports.verdicts import verdict_words
from grader_daemon.storage.records import StoredGrade

if TYPE_CHECKING:
    from grader_daemon.api.calibration import CalibrationState
    from grader_daemon.api.explanation import Explanation
    from grader_daemon.api.grades import Grades
    from grader_daemon.api.insight import Insight
    from grader_daemon.api.transcript import Transcript
    from grader_daemon.domain.usage_by_day import UsageSplit

_LAST = ("ended_at", "ended_on", "error_rate", "had_user_refusal", "had_user_interruption", "state_reason", "tools")

_INTERNAL = ("features", "request", "wording", "unit_key")
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
    """Return a grade as it stands in JSON documents: the columns of `session_grades`, then the details.

    What is not known of a session without scores is None. `verdict` says all of the verdict in a sentence.
    """
    document = {} if row_id is None else {"id": row_id}
    fields = msgspec.to_builtins(grade)
    fields["failures"] = failure_documents(grade)
    fields["edited_paths"] = None if grade.edited_paths is None else grade.edited_paths.split("\n")
    for name in _INTERNAL:
        del fields[name]
    for name in _LAST:
        fields[name] = fields.pop(name)
    return {**document, **fields, **judged_columns(grade, trust=trust)}


def judged_columns(grade: Grade, *, trust: Trust) -> dict[str, Any]:
    """Return the columns of a grade that are no fields of it, and its scores, which are None where nothing is known."""
    score = grade.score
    return {
        "task_completed": grade.completed,
        "tool_calls_efficient": grade.efficiency,
        "response_quality": grade.quality,
        "errors_recovered": grade.recovered,
        **({} if grade.has_scores else dict.fromkeys(_AUTOMATIC)),
        "outcome": grade.outcome,
        "verdict": verdict_words(grade, trust),
        "score": None if score is None else round(score, 4),
    }


def session_document(grades: Grades, session_id: str) -> dict[str, Any]:
    """Return what is known of a session, the beginning of whose id is enough.

    Raises:
        InputError: there is none, or there are several.
    """
    stored = grades.find(session_id)
    return {
        "grade": grade_document(stored.grade, stored.id, trust=grades.trust()),
        "quality_check": grades.quality_check(stored.grade.session_id),
        "is_gone": grades.is_gone(stored.grade),
        "children": grades.children(stored.grade.session_id),
        "early": grades.early(stored.grade),
    }


def usage_document(insight: Insight, grades: Grades, *, days: float, split: UsageSplit) -> dict[str, Any]:
    """Return what the sessions of the last days cost and used, with those that cost most."""
    trust, most = grades.trust(), grades.most_expensive(days=days)
    return {
        **msgspec.structs.asdict(insight.usage(days=days, split=split)),
        "most_expensive": [grade_document(stored.grade, stored.id, trust=trust) for stored in most],
    }


def calibration_document(made: Calibration) -> dict[str, Any]:
    """Return a calibration as it stands in JSON documents: its model by name, whose numbers say nothing to a person."""
    return {**msgspec.to_builtins(made), "model": made.model.version}


class FailureDocument(TypedDict):
    """A failure as it stands in JSON documents; see `Failure`."""

    index: int
    tool: str | None
    category: Category
    subcategory: Subcategory | None
    kind: FailureKind


def failure_documents(grade: Grade) -> list[FailureDocument]:
    """Return the failures of a grade, probes too, as they stand in JSON documents."""
    return [
        {
            "index": failure.index,
            "tool": failure.tool,
            "category": failure.category,
            "subcategory": failure.subcategory,
            "kind": failure.kind,
        }
        for failure in grade.failures
    ]


def explanation_document(explanation: Explanation, *, trust: Trust) -> dict[str, Any]:
    """Return the reasons of a grade as they stand in JSON documents."""
    grade = explanation.stored.grade
    return {
        "session_id": grade.session_id,
        "rules_version": grade.rules_version,
        "outcome": grade.outcome,
        "verdict": verdict_words(grade, trust),
        "reasons": [
            {
                "score": reason.score,
                "rule": reason.rule,
                "effect": reason.effect,
                "messages": reason.messages,
                "meaning": explanation.sentences[reason.rule],
            }
            for reason in grade.reasons
        ],
        "p_completed": grade.p_completed,
        "effects": msgspec.to_builtins(explanation.effects),
        "failures": failure_documents(grade),
        "claims": grade.claims,
        "signals_from_people": grade.signals_from_people,
        "asked_again": grade.asked_again,
        "refused": explanation.refused,
        "messages": {str(index): text for index, text in explanation.excerpts.items()},
        "note": explanation.note,
    }


def transcript_document(told: Transcript) -> dict[str, Any]:
    """Return messages of a session as they stand in JSON documents."""
    return {
        "session_id": told.stored.grade.session_id,
        "total": told.total,
        "note": told.note,
        "messages": told.messages,
    }


def alert_document(alert: Alert, silences: Mapping[Stream, datetime]) -> dict[str, Any]:
    """Return an alert as it stands in JSON documents: with the end of the silence that is kept on it."""
    from grader_daemon.alerts.settlement import silent_until  # documents of grades need not wait for it

    return {**msgspec.to_builtins(alert), "silent_until": silent_until(alert, silences)}


def calibration_state_document(state: CalibrationState) -> dict[str, Any]:
    """Return how sure grades are, without the numbers of former models, which are long and say nothing to a person."""
    look = None if state.look is None else calibration_document(state.look)
    history = [calibration_document(each) for each in state.history]
    return {**msgspec.to_builtins(state), "look": look, "history": history}


def as_dict(result: msgspec.Struct) -> dict[str, Any]:
    """Return a result as nested dictionaries; times stay times, unknown values are None.

    A stored grade is its grade with the `id` of its row; `score` is with both.
    """
    if isinstance(result, StoredGrade):
        return {"id": result.id, **as_dict(result.grade)}
    fields: dict[str, Any] = msgspec.to_builtins(result, builtin_types=(date, datetime))
    if isinstance(result, Grade):
        fields |= {"features": tuple(result.features), "score": result.score}
    return fields


def as_frame(results: Iterable[msgspec.Struct]) -> Any:
    """Return results as a `pandas.DataFrame`, one a row; lists within them stay lists.

    Raises:
        InputError: pandas is not installed.
    """
    try:
        pandas = import_module("pandas")
    except ImportError as error:
        raise InputError(f"a DataFrame needs pandas, which is not installed. Add it: {how_to_add('pandas')}") from error
    return pandas.DataFrame([as_dict(result) for result in results])
