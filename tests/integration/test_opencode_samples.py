"""A database and files that real OpenCodes wrote, against what the server noted that played the model."""

from __future__ import annotations

import json
import os
import shutil
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from grader_daemon.domain.analysis import CallStatus, SessionState
from grader_daemon.domain.limits import Limits
from grader_daemon.domain.session import ASSISTANT, Session, SessionKind, Skipped, total_usage
from grader_daemon.sources.opencode.opencode_source import OpenCode

SHARED = Path(__file__).parents[3] / "shared" / "data" / "sources" / "opencode"
DATABASE = SHARED / "oc118" / "opencode.db"
OF_ROWS = json.loads((SHARED / "oc118/EXPECTED.json").read_text())["sessions"] if DATABASE.exists() else {}
OF_FILES = {
    (expected := json.loads(path.read_text()))["session_id"]: (path.parent, expected)
    for path in sorted((SHARED / "oc10").glob("*/EXPECTED.json"))
}
EXPECTED: dict[str, dict[str, Any]] = OF_ROWS | {name: expected for name, (_, expected) in OF_FILES.items()}

pytestmark = pytest.mark.skipif(
    not EXPECTED and os.environ.get("CI") != "true", reason="the sample sessions are not here"
)

SUCCESS, FAILURE, REFUSED = CallStatus.SUCCESS, CallStatus.FAILURE, CallStatus.REFUSED

OUTCOMES: dict[str, set[CallStatus]] = {
    "ok": {SUCCESS},
    "failed": {FAILURE},
    "probe(exit 1, no harm)": {FAILURE},  # which exit codes do no harm is judged later
    "unknown_tool": {FAILURE},
    "timeout": {FAILURE},
    "refused": {REFUSED},
    "no_result_reached_the_model": {SUCCESS},
    "killed_or_open": set(),
}
"""By what the server noted of a call; docs/agents.md says why what follows deviates."""

STATUS = {("ses_dfc1809a1ffeMq2G9RVYed4h85", "write"): REFUSED}
TOKENS: dict[str, tuple[int | None, int | None]] = {
    "ses_dfc0ea2b4ffeDiuEtfEuzffqZc": (557_472, 200),
    "ses_dfc0dc3f2ffexQVViYuBPHWL02": (7_672, 20),
    "ses_dfc060bb6ffepRlPyY6RdWcKHd": (7_675, 20),
    "ses_dfc05b0f4ffeutWe9XNIVVc1ie": (7_674, 20),
    "ses_dfc011affffeb6abCojSt7vL7p": (101_133, 180),
}


@cache
def read_rows(folder: Path) -> dict[str, Session | Skipped]:
    source = OpenCode([str(folder)], limits=Limits())
    units = [found.unit for found in source.walk(str(folder))]
    read = {unit.key or Path(unit.locator).stem: source.read(source.look(unit)).session for unit in units}
    return {name: session for name, session in read.items() if session is not None}


@pytest.fixture(scope="module")
def database_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The database is read where we may lock it."""
    folder = tmp_path_factory.mktemp("opencode")
    shutil.copy(DATABASE, folder)
    return folder


@pytest.fixture
def session(request: pytest.FixtureRequest, database_folder: Path) -> Session | Skipped:
    name = request.param
    return read_rows(OF_FILES[name][0] if name in OF_FILES else database_folder)[name]


@pytest.mark.parametrize(("name", "session"), [(name, name) for name in EXPECTED], ids=EXPECTED, indirect=["session"])
def test_a_sample_has_the_answers_calls_and_words_that_were_served(name: str, session: Session | Skipped) -> None:
    expected = EXPECTED[name]
    assert isinstance(session, Session)
    answers = [message for message in session.messages if message.role == ASSISTANT]
    calls = [call for answer in answers for call in answer.tool_calls or ()]

    assert len(answers) == expected["responses_served"]
    assert len(calls) == expected["tool_calls"]
    wanted = {call["id"]: call["tool"] for call in expected["calls"]}
    assert {call.id: call.tool for call in calls} == {call.id: wanted[call.id or ""] for call in calls}
    assert (answers[-1].text if answers else "").startswith(expected["final_text"] or "")


@pytest.mark.parametrize(("name", "session"), [(name, name) for name in EXPECTED], ids=EXPECTED, indirect=["session"])
def test_the_outcomes_of_a_sample_are_those_that_were_served(name: str, session: Session | Skipped) -> None:
    truth = {call["id"]: call["truth"] for call in EXPECTED[name]["calls"]}
    assert isinstance(session, Session)

    for index, message in enumerate(session.messages):
        if message.tool_call_id is not None:
            wanted = STATUS.get((name, message.tool_name or ""))
            allowed = OUTCOMES[truth[message.tool_call_id]] if wanted is None else {wanted}
            assert session.reported[index].status in allowed, message


@pytest.mark.parametrize(("name", "session"), [(name, name) for name in EXPECTED], ids=EXPECTED, indirect=["session"])
def test_the_tokens_of_a_sample_are_those_that_were_served(name: str, session: Session | Skipped) -> None:
    expected = EXPECTED[name]
    assert isinstance(session, Session)
    used = total_usage(session.usage)
    read = None if used.input_tokens is None else used.input_tokens + (used.cache_read_tokens or 0)

    served = expected["tokens_in_on_wire"] or None, expected["tokens_out_on_wire"] or None
    assert (read, used.output_tokens) == TOKENS.get(name, served)


@pytest.mark.parametrize(
    ("name", "state"),
    [
        ("ses_dfc1c9242ffeIR4jJQ3ttf0m3C", SessionState.COMPLETE),
        ("ses_dfc1294feffeYMm7Vx7Eal6z42", SessionState.INTERRUPTED),  # the provider's filter
        ("ses_dfc0dc3f2ffexQVViYuBPHWL02", SessionState.OPEN),  # killed
    ],
)
def test_how_a_session_stands_is_what_its_last_message_says(
    name: str, state: SessionState, database_folder: Path
) -> None:
    session = read_rows(database_folder)[name]
    assert isinstance(session, Session)
    assert session.ending is not None

    assert session.ending.state is state


def test_sub_agents_and_money_are_known(database_folder: Path) -> None:
    child = read_rows(database_folder)["ses_dfc14acbeffeqJVdEvaRlKh7Jq"]
    assert isinstance(child, Session)

    assert (child.kind, child.parent) == (SessionKind.SUB_AGENT, "ses_dfc153b28ffe3RwEpeLnP1gttb")
    assert child.cost_usd == pytest.approx(0.0206604)
    assert (child.project, child.agent_version) == ("/tmp/ocproj", "1.18.33")


def test_nothing_lies_beside_a_database_that_was_read(database_folder: Path) -> None:
    read_rows(database_folder)

    assert [path.name for path in database_folder.iterdir()] == ["opencode.db"]
