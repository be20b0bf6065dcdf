"""A report as a JSON document, and back."""

from __future__ import annotations

from typing import Any

import msgspec

from grader_daemon._version import SCHEMA_VERSION
from grader_daemon.domain.insight import WeeklyReport

_DECODER = msgspec.json.Decoder(WeeklyReport)


def report_document(report: WeeklyReport) -> dict[str, Any]:
    """Return a report as plain values for a JSON document, in a fixed order."""
    return {"schema_version": SCHEMA_VERSION, **msgspec.to_builtins(report, order="deterministic")}


def read_report(text: str | bytes) -> WeeklyReport:
    """Read a report from its JSON document; unknown fields are passed over.

    Raises: msgspec.DecodeError.
    """
    return _DECODER.decode(text)


def report_schema() -> dict[str, Any]:
    """Return the JSON Schema (2020-12) of the document."""
    (_, components) = msgspec.json.schema_components((WeeklyReport,), ref_template="#/$defs/{name}")
    report = components["WeeklyReport"]
    report["properties"] = {"schema_version": {"const": SCHEMA_VERSION}, **report["properties"]}
    report["required"] = ["schema_version", *report["required"]]
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$ref": "#/$defs/WeeklyReport",
        "$defs": components,
    }
