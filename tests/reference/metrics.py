"""The metrics for Prometheus, as a table: what `push metrics` says of each, and its labels."""

from __future__ import annotations

from grader_daemon.push.exposition import Family
from grader_daemon.push.session_metrics import metric_families
from tests.reference.blocks import table
from tests.unit.push.test_session_metrics import EVERYTHING

_OF_THE_NAME = ("_info", "_total")


def metrics_table() -> str:
    """Return each metric with its labels and its help."""
    return table(
        ("metric", "labels", "meaning"),
        [(f"`{_name(family)}`", _labels(family), family.help) for family in metric_families(EVERYTHING)],
    )


def _name(family: Family) -> str:
    suffix = family.samples[0].suffix
    return f"{family.name}{suffix if suffix in _OF_THE_NAME else ''}"


def _labels(family: Family) -> str:
    names = dict.fromkeys(name for sample in family.samples for name in sample.labels)
    return ", ".join(f"`{name}`" for name in names)
