"""What a machine sends of a grade: the values of tables, within the bounds of the fleet's database."""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import product
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from grader_daemon.api.documents import grade_document
from grader_daemon.api.tables import columns
from grader_daemon.domain.analysis import SessionState
from grader_daemon.domain.calibration import Trust
from grader_daemon.domain.column import ListOf, Scalar, Shape
from grader_daemon.domain.grade import Grade, Reason
from grader_daemon.domain.verdict import VerdictBy
from grader_daemon.fleet.sent_rows import SENT_COLUMNS, cells_of, sent_rows
from grader_daemon.pipeline.saving import save_grades
from grader_daemon.reports.verdicts import verdict_words
from grader_daemon.storage.sqlite.store import SqliteStore
from tests.strategies import grade, grades, new_grade

TEXTS = st.text(st.sampled_from('\0\\u0a"é'))
LISTS = st.lists(
    st.recursive(TEXTS, lambda inner: st.lists(inner) | st.dictionaries(st.sampled_from("ab"), inner)), max_size=9
)
LIST = ListOf(Scalar.TEXT)
TRUST = Trust(version="none.rules", by=VerdictBy.RULES)
SHAPES = columns() | {"edited_paths": Scalar.TEXT}
DAY = "2026-11-22"
WORDS = (
    *("session_file", "project", "task_summary", "job_name"),
    *("request_words", "answer_beginning", "last_check", "edited_paths"),
)
"""Columns with words of a session, and paths."""


@pytest.mark.parametrize(
    ("shape", "value", "cell"),
    [
        pytest.param(Scalar.BOOLEAN, 0, False, id="no"),
        pytest.param(Scalar.NUMBER, 1.5, 1.5, id="number"),
        pytest.param(Scalar.TEXT, "a\0b\0", "ab", id="text-with-nul"),
        pytest.param(Scalar.TEXT, "a" * 9_999, "a" * 2_000, id="long-text"),
        pytest.param(Scalar.INTEGER, -1, 0, id="below-zero"),
        pytest.param(Scalar.INTEGER, 2**70, 10**12, id="too-many"),
        pytest.param(Scalar.NUMBER, float("nan"), None, id="no-number"),
        pytest.param(Scalar.NUMBER, -0.5, None, id="no-measure"),
        pytest.param(Scalar.TIME, f"{DAY}T10:00:00+01:00", f"{DAY}T09:00:00+00:00", id="time"),
        pytest.param(Scalar.TIME, "0001-01-01T00:00:00+00:00", None, id="before-all-sessions"),
        pytest.param(Scalar.TIME, "yesterday", None, id="no-time"),
        pytest.param(Scalar.DAY, DAY, DAY, id="day"),
        pytest.param(Scalar.DAY, "yesterday", None, id="no-day"),
        pytest.param(Scalar.DAY, "0001-01-01", None, id="a-day-before-all-sessions"),
        pytest.param(LIST, ["a" * 99] * 20_000, json.dumps(["a" * 99] * 10_000, separators=(",", ":")), id="long-list"),
        pytest.param(LIST, json.dumps(["é" * 99] * 10_000), json.dumps(["é" * 99] * 5_000), id="long-list-as-stored"),
        pytest.param(LIST, ["a"], '["a"]', id="list"),
        pytest.param(LIST, '["a"]', '["a"]', id="list-as-stored"),
        pytest.param(LIST, ({"a": "\0"},), '[{"a":""}]', id="nul-within"),
        pytest.param(LIST, ["\\u0000"], '["\\\\u0000"]', id="what-looks-like-nul"),
        pytest.param(LIST, ["\\\0"], '["\\\\"]', id="nul-behind-a-backslash"),
    ],
)
def test_values_are_given_as_columns_hold_them(shape: Shape, value: Any, cell: Any) -> None:
    [given, unknown] = cells_of(shape)([value, None])
    if isinstance(given, str) and given.startswith("["):
        given, cell = json.loads(given), json.loads(cell)
    assert (given, unknown) == (cell, None)


@given(LISTS)
def test_json_is_the_same_but_for_nul(value: Any) -> None:
    [cell] = cells_of(LIST)([value])
    assert json.loads(str(cell)) == _without_nul(value)


def _without_nul(value: Any) -> Any:
    if isinstance(value, str):
        return value.replace("\0", "")
    if isinstance(value, dict):
        return {name: _without_nul(each) for name, each in value.items()}
    return [_without_nul(each) for each in value]


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(made=grades())
@example(made=grade(rules_version=f"r1+{TRUST.version}"))
@example(made=grade(verdict_by=VerdictBy.PERSON, automatic_completed=False, automatic_by=VerdictBy.MODEL))
@example(made=grade(task_completed=False, reasons=(Reason("task_completed", "completion.gave_up", None),)))
@example(made=grade(verdict_by=VerdictBy.PERSON, automatic_quality=1, p_completed=0.5))
@example(made=grade(scored=False))
@example(made=grade(state=SessionState.OPEN))
@example(made=grade(state=SessionState.INTERRUPTED, unsure=True))
def test_a_row_has_what_the_document_of_its_grade_has(store: SqliteStore, made: Grade) -> None:
    with store.transaction():
        save_grades(store, [new_grade(made)])
    [stored] = store.grades.stored([made.session_id]).values()
    document = grade_document(stored.grade, stored.id, trust=TRUST) | {
        "failures": stored.grade.failures,
        "edited_paths": stored.grade.edited_paths,
    }
    hashes = {"request": made.request, "wording": made.wording}
    told = _read(_bounded(msgspec.json.decode(msgspec.json.encode(document)) | hashes))
    claims = [{**claim, "subject": None, "words": None} for claim in told["claims"]]

    assert _sent(store, [made], texts=True) == [told]
    assert _sent(store, [made], texts=False) == [{**told, **dict.fromkeys(WORDS), "claims": claims}]


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(made=st.lists(grades(), min_size=2, max_size=3, unique_by=lambda each: each.session_id))
def test_a_row_is_the_same_beside_others(store: SqliteStore, made: list[Grade]) -> None:
    with store.transaction():
        save_grades(store, [new_grade(each) for each in made])

    assert _sent(store, made, texts=True) == [row for each in made for row in _sent(store, [each], texts=True)]


def test_grades_that_differ_in_words_share_no_sentence(store: SqliteStore) -> None:
    likely = [None, 0.004, 0.0049, 0.994, 0.9949, *(number / 1000 for number in range(0, 1001, 25))]
    rules = ["completion.gave_up", "completion.cut_short", "completion.high_error_rate"]
    made = [
        grade(
            session_id=f"{number}",
            task_completed=False,
            unsure=unsure,
            p_completed=each,
            verdict_by=VerdictBy.MODEL,
            reasons=(Reason("task_completed", rule, None),),
        )
        for number, (each, rule, unsure) in enumerate(product(likely, rules, (True, False)))
    ]
    with store.transaction():
        save_grades(store, [new_grade(each) for each in made])

    assert [row["verdict"] for row in _sent(store, made, texts=True)] == [verdict_words(each, TRUST) for each in made]


def test_of_no_grades_there_are_no_columns(store: SqliteStore) -> None:
    assert store.grades.columns(["s"]) is None


def _sent(store: SqliteStore, made: list[Grade], *, texts: bool) -> list[dict[str, Any]]:
    """Return the rows of grades in their order."""
    graded = store.grades.columns([each.session_id for each in made])
    assert graded is not None
    rows = dict(zip(graded.columns["session_id"], sent_rows(graded, TRUST, texts=texts), strict=True))
    return [_read(rows[each.session_id]) for each in made]


def _bounded(document: dict[str, Any]) -> list[Any]:
    given = ((name, document[name]) for name in SENT_COLUMNS)
    return [
        value if value is None or name not in SHAPES else cells_of(SHAPES[name])([value])[0] for name, value in given
    ]


def _read(row: Sequence[Any]) -> dict[str, Any]:
    """Return a row by its columns, lists read."""
    named = zip(SENT_COLUMNS, row, strict=True)
    return {
        name: json.loads(value) if value and isinstance(SHAPES.get(name), ListOf) else value for name, value in named
    }
