"""The converter that docs/other-agents.md tells people to copy."""

from __future__ import annotations

import json
import runpy
from pathlib import Path
from typing import Any

import pytest

from grader_daemon.domain.analysis import CallStatus
from grader_daemon.domain.limits import Limits
from grader_daemon.domain.session import ReportedOutcome, Session, Usage
from grader_daemon.domain.unit import Unit
from grader_daemon.sources.atif.trial_files import AtifTrials

_EXAMPLE = Path(__file__).parents[4] / "docs" / "examples" / "acme_to_atif.py"
_CALLS = [
    {"id": "c1", "tool": "bash", "input": {"command": "pytest"}},
    {"id": "c2", "tool": "bash", "input": {"command": "rm -r /"}},
]
_LOG: list[dict[str, Any]] = [
    {"event": "start", "session": "7", "version": "3.1", "model": "acme-large", "folder": "/work"},
    {"event": "person", "text": "Fix the failing test"},
    {"event": "model", "text": "I run it.", "read": 1200, "cached": 200, "written": 40, "calls": _CALLS},
    {"event": "tool", "id": "c1", "output": "1 failed", "exit_code": 1},
    {"event": "tool", "id": "c2", "output": "no", "status": "denied"},
    {"event": "model", "text": "I could not fix it.", "read": 1300, "cached": 1200, "written": 10},
    {"event": "end", "why": "done"},
]


def session_of(lines: list[dict[str, Any]]) -> Session:
    convert = runpy.run_path(str(_EXAMPLE))["to_atif"]
    content = json.dumps(convert([json.dumps({"at": "2026-11-22T15:20:00Z", **line}) for line in lines]))
    session = AtifTrials(limits=Limits()).parse(content.encode(), Unit("atif", "/runs/7.atif.json")).session
    assert isinstance(session, Session)
    return session


def test_it_is_as_short_as_the_page_says() -> None:
    page = (_EXAMPLE.parents[1] / "other-agents.md").read_text()

    assert f"{len(_EXAMPLE.read_text().splitlines())} lines of Python for an invented agent" in page


def test_all_that_a_log_tells_is_in_the_session() -> None:
    session = session_of(_LOG)

    assert [(message.role, message.text) for message in session.messages] == [
        ("user", "Fix the failing test"),
        ("assistant", "I run it."),
        ("tool", "1 failed"),
        ("tool", "no"),
        ("assistant", "I could not fix it."),
    ]
    assert session.reported == {
        2: ReportedOutcome(CallStatus.FAILURE, 1),
        3: ReportedOutcome(CallStatus.REFUSED),
    }
    assert (session.session_id, session.agent, session.agent_version, session.model, session.project) == (
        *("7", "acme", "3.1", "acme-large"),
        "/work",
    )
    assert session.usage == (Usage(model="acme-large", input_tokens=1100, cache_read_tokens=1400, output_tokens=50),)
    assert session.ending is not None
    assert session.ending.state == "complete"


@pytest.mark.parametrize(
    ("lines", "state"), [(_LOG[:-1], "open"), ([*_LOG[:-1], {"event": "end", "why": "crashed"}], "interrupted")]
)
def test_one_that_goes_on_or_was_cut_short_is_told_as_such(lines: list[dict[str, Any]], state: str) -> None:
    ending = session_of(lines).ending

    assert ending is not None
    assert ending.state == state
