"""What holds for every source, and what Acme notes; ``pytest`` runs all of it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from acme_grader import Acme

from grader_daemon.sources.api import CallStatus, EndingKind, Limits, ReportedOutcome, Session, Unit, Usage
from grader_daemon.testing.source_contract import Keeper, LinesContract, answered, asked, check_installed

START = {"event": "start", "session": "7", "version": "3.1", "model": "acme-large", "folder": "/work"}


def log(*lines: dict[str, Any]) -> bytes:
    return b"".join(json.dumps({"at": "2026-11-22T15:20:00Z", **line}).encode() + b"\n" for line in lines)


class AcmeLog(Keeper):
    """How Acme keeps a session."""

    @property
    def file(self) -> Path:
        return self.root / "7.log"

    def source(self) -> Acme:
        return Acme([str(self.root)], limits=Limits())

    def write(self, turns: int) -> None:
        said = [
            line
            for turn in range(turns)
            for line in ({"event": "person", "text": asked(turn)}, {"event": "model", "text": answered(turn)})
        ]
        self.grow(log(START, *said))


class TestAcme(LinesContract):
    keeps = AcmeLog


def session_of(*lines: dict[str, Any]) -> Session:
    session = Acme(limits=Limits()).parse(log(START, *lines), Unit("acme", "/logs/7.log")).session
    assert isinstance(session, Session)
    return session


def test_it_is_installed() -> None:
    check_installed("acme")


def test_what_acme_notes_of_a_call_is_its_outcome() -> None:
    failed, denied = {"event": "tool", "id": "a", "exit_code": 1}, {"event": "tool", "id": "b", "denied": True}

    assert list(session_of(failed, denied).reported.values()) == [
        ReportedOutcome(CallStatus.FAILURE, 1),
        ReportedOutcome(CallStatus.REFUSED),
    ]


def test_tokens_from_the_cache_are_no_input() -> None:
    answer = {"event": "model", "text": "Done.", "read": 1200, "cached": 200, "written": 40}

    assert session_of(answer).usage == (
        Usage(model="acme-large", input_tokens=1000, cache_read_tokens=200, output_tokens=40),
    )


def test_one_that_was_stopped_is_told_as_such() -> None:
    ending = session_of({"event": "end", "why": "stopped"}).ending

    assert ending is not None
    assert ending.kind is EndingKind.PERSON
