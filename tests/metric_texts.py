"""Metrics as those read them for whom they are made: the client library of Prometheus, and its own tool."""

from __future__ import annotations

import subprocess

from prometheus_client import Metric
from prometheus_client.openmetrics import parser as openmetrics
from prometheus_client.parser import text_string_to_metric_families

Series = dict[tuple[str, frozenset[tuple[str, str]]], float]


def read_classic(text: str) -> list[Metric]:
    """Read the text format; it refuses what it does not understand."""
    return list(text_string_to_metric_families(text))


def read_openmetrics(text: str) -> list[Metric]:
    """Read OpenMetrics; it refuses what does not follow the standard."""
    return list(openmetrics.text_string_to_metric_families(text))  # type: ignore[no-untyped-call]


def series(families: list[Metric]) -> Series:
    """Give each sample by name and labels; no two may be alike."""
    samples = [sample for family in families for sample in family.samples]
    found = {(sample.name, frozenset(sample.labels.items())): sample.value for sample in samples}
    assert len(found) == len(samples)
    return found


def value(families: list[Metric], name: str, **labels: str) -> float | None:
    """Give one sample; None where there is none."""
    return series(families).get((name, frozenset(labels.items())))


def complaints(promtool: str, text: str) -> str:
    """Give what promtool finds wrong with the text format."""
    said = subprocess.run([promtool, "check", "metrics"], input=text, capture_output=True, text=True, check=False)
    return said.stdout + said.stderr
