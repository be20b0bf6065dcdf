"""What Prometheus answers to the dashboard is tried in tests/e2e/test_prometheus.py; Grafana itself is not here."""

from __future__ import annotations

import itertools
import re

import pytest

from grader_daemon.push.exposition import prometheus_text
from grader_daemon.push.session_metrics import metric_families
from tests.documents import page
from tests.grafana import DASHBOARD, QUERIES
from tests.metric_texts import read_classic
from tests.unit.push.test_session_metrics import EVERYTHING

_PANELS = DASHBOARD["panels"]
_SAMPLES = [
    sample for family in read_classic(prometheus_text(metric_families(EVERYTHING))) for sample in family.samples
]


@pytest.mark.parametrize(("title", "legend", "query"), QUERIES)
def test_a_query_asks_for_metrics_and_labels_that_there_are(title: str, legend: str, query: str) -> None:
    names = set(re.findall(r"\bgrader_\w+", query))
    known = [sample for sample in _SAMPLES if sample.name in names]
    assert {sample.name for sample in known} == names, title
    asked = {*re.findall(r"\{\{(\w+)\}\}", legend), *re.findall(r"(\w+)=~?\"", query)} - {"instance"}
    assert asked <= {label for sample in known for label in sample.labels}, title


@pytest.mark.parametrize(("title", "legend", "query"), QUERIES)
def test_each_metric_is_asked_for_the_machines_that_are_chosen(title: str, legend: str, query: str) -> None:
    assert query.count('instance=~"$instance"') == len(re.findall(r"\bgrader_\w+", query)), (title, legend)


def test_gauges_are_never_asked_as_counters() -> None:
    rated = {name for _, _, query in QUERIES for name in re.findall(r"(?:rate|increase)\((\w+)", query)}
    assert rated == {"grader_labels_total", "grader_grade_lag_seconds_bucket"}


def test_panels_have_ids_of_their_own_and_lie_beside_each_other() -> None:
    assert len({panel["id"] for panel in _PANELS}) == len(_PANELS)
    for one, other in itertools.combinations([panel["gridPos"] for panel in _PANELS], 2):
        apart_across = one["x"] + one["w"] <= other["x"] or other["x"] + other["w"] <= one["x"]
        apart_down = one["y"] + one["h"] <= other["y"] or other["y"] + other["h"] <= one["y"]
        assert apart_across or apart_down, (one, other)
    assert all(panel["gridPos"]["x"] + panel["gridPos"]["w"] <= 24 for panel in _PANELS)


def test_every_metric_is_explained_on_the_page_of_metrics() -> None:
    told = {family.name for family in read_classic(prometheus_text(metric_families(EVERYTHING)))}
    explained = set(re.findall(r"^\| `(grader_\w+?)(?:_total)?` ", page("docs/metrics.md").text, re.MULTILINE))
    assert explained == told
