from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from grader_daemon.domain.estimate import Estimate, Figure
from grader_daemon.domain.insight import WeeklyReport
from grader_daemon.reports.document import read_report, report_document, report_schema
from tests.reports_examples import ATTACK, empty_report, example_report, hostile_report

_NUMBERS = st.none() | st.floats(allow_nan=False, allow_infinity=False)
_ESTIMATES = st.builds(Estimate, value=_NUMBERS, low=_NUMBERS, high=_NUMBERS, sample=st.integers(0, 2**53))
_FIGURES = st.builds(Figure, now=_ESTIMATES, before=_ESTIMATES, change=_ESTIMATES)


@pytest.mark.parametrize(
    "report",
    [
        pytest.param(example_report(), id="full"),
        pytest.param(empty_report(), id="empty"),
        pytest.param(hostile_report(ATTACK.replace("\ud800", "")), id="hostile"),
    ],
)
def test_report_comes_back_as_it_was(report: WeeklyReport) -> None:
    encoded = msgspec.json.encode(report_document(report))

    assert read_report(encoded) == report
    assert read_report(json.dumps(json.loads(encoded))) == report


@given(figure=_FIGURES)
def test_numbers_come_back_exactly(figure: Figure) -> None:
    report = example_report(ended_badly=figure)

    assert read_report(json.dumps(report_document(report))).ended_badly == figure


def test_document_names_its_version_and_every_field() -> None:
    document = report_document(example_report())

    assert document["schema_version"] == 1
    assert set(document) == {"schema_version", *WeeklyReport.__struct_fields__}


def test_the_order_of_counts_does_not_change_the_document() -> None:
    coverage = example_report().coverage
    turned = msgspec.structs.replace(coverage, skipped=dict(reversed(coverage.skipped.items())))

    documents = [json.dumps(report_document(example_report(coverage=one))) for one in (coverage, turned)]

    assert documents[0] == documents[1]


def test_fields_of_a_later_version_are_passed_over() -> None:
    document = {**report_document(example_report()), "mood": "fine"}

    assert read_report(json.dumps(document)) == example_report()


@pytest.mark.parametrize("text", [pytest.param("{", id="cut-short"), pytest.param("{}", id="fields-missing")])
def test_what_is_no_report_is_refused(text: str) -> None:
    with pytest.raises(msgspec.DecodeError):
        read_report(text)


def test_schema_describes_the_document() -> None:
    schema = report_schema()
    described = _definition(schema, schema)

    assert set(described["properties"]) == set(report_document(example_report()))
    optional = {"report_version", "people", "checked_completion", "ended_badly", "verdicts"}
    optional |= {"grader_changes", "agents", "spending", "spending_before", "changes", "hosts", "scheduled"}
    optional |= {"jobs", "work", "claims"}
    assert set(described["required"]) == set(described["properties"]) - optional


def test_schema_holds_every_definition_that_it_refers_to() -> None:
    schema = report_schema()

    for reference in _references(schema):
        assert _definition(schema, {"$ref": reference})


def _definition(schema: dict[str, Any], node: dict[str, Any]) -> dict[str, Any]:
    definition: dict[str, Any] = schema["$defs"][node["$ref"].removeprefix("#/$defs/")]
    return definition


def _references(node: Any) -> list[str]:
    if isinstance(node, list):
        return [reference for entry in node for reference in _references(entry)]
    if not isinstance(node, dict):
        return []
    own = [node["$ref"]] if "$ref" in node else []
    return own + [reference for entry in node.values() for reference in _references(entry)]
