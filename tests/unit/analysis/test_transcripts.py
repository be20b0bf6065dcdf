"""Whole sessions as people have them with many programs and tools: a table in `tests/data/transcripts.jsonl`.

A case is a request, calls with their results, and an answer; it says the kinds of the failures, and what becomes of the
claims. Calls of the terminal are written as a command line with its exit code and output.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from grader_daemon.analysis.analyzer import Analyzer
from grader_daemon.rules import load_rules
from tests.strategies import answer, session, user
from tests.tables import for_each
from tests.unit.analysis.test_failure_semantics import round_of

CASES = [
    json.loads(line)
    for line in (Path(__file__).parents[2] / "data" / "transcripts.jsonl").read_text("utf-8").splitlines()
]


@pytest.fixture(scope="module")
def analyzer() -> Analyzer:
    return Analyzer(load_rules())


@for_each("case", [pytest.param(case, id=case["id"]) for case in CASES])
def test_a_session_has_these_failures_and_claims(case: dict[str, Any], analyzer: Analyzer) -> None:
    rounds = [message for number, made in enumerate(case["calls"]) for message in round_of(made, number)]

    found = analyzer.analyze(session(user(case["request"]), *rounds, answer(case["answer"])))

    assert [failure.kind.value for failure in found.failures] == case["failures"]
    assert [f"{claim.kind} {claim.support}" for claim in found.claims] == case["claims"]
