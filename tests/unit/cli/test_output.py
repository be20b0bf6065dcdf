from __future__ import annotations

import json
import os
import sys
import termios
from contextlib import suppress
from datetime import UTC, datetime
from io import StringIO

import pytest

from grader_daemon.cli import output
from grader_daemon.domain.analysis import Category, Failure, FailureKind
from grader_daemon.domain.claims import Claim, ClaimKind, ClaimReason, Support
from grader_daemon.reports.session_words import borne_out
from tests.strategies import failures, grade

AT = datetime(2026, 11, 22, 6, 7, 20, tzinfo=UTC)


@pytest.mark.parametrize(
    ("message", "shown"),
    [
        pytest.param(
            json.dumps({"timestamp": "x", "event": "session.graded", "path": "/a b", "message": "done .81 general  a"}),
            "done .81 general  a",
            id="an-event",
        ),
        pytest.param("Started it.", "Started it.", id="text"),
        pytest.param("{broken", "{broken", id="no-JSON"),
        pytest.param('["event"]', '["event"]', id="JSON-of-another-kind"),
        pytest.param('{"said": 1}', '{"said": 1}', id="no-event"),
        pytest.param('{"message": 1}', '{"message": 1}', id="an-event-of-another-program"),
        pytest.param("a\x1b[2Jb\r", "a\N{REPLACEMENT CHARACTER}[2Jb\N{REPLACEMENT CHARACTER}", id="escapes"),
        pytest.param(
            json.dumps({"message": "an error", "exception": "Traceback:\n  line\x07"}),
            "an error\n    Traceback:\n      line\N{REPLACEMENT CHARACTER}",
            id="a-traceback",
        ),
    ],
)
def test_a_line_of_the_log_is_for_people(capsys: pytest.CaptureFixture[str], message: str, shown: str) -> None:
    output.log_line(AT, "info", message)
    printed = capsys.readouterr().out
    assert printed == f"{AT.astimezone():%Y-%m-%d %H:%M:%S %Z}  info     {shown}\n"


def test_an_error_breaks_between_words_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    reader, terminal = os.openpty()
    termios.tcsetwinsize(terminal, (24, 30))
    with monkeypatch.context() as patched, open(terminal, "w", encoding="utf-8") as stderr:
        patched.setattr(sys, "stderr", stderr)
        output.error("grader-daemon: model:opus is not one of the known models")
    shown = b""
    with suppress(OSError):  # which ends what a closed terminal hands out, a line at a time
        while piece := os.read(reader, 1000):
            shown += piece
    os.close(reader)
    assert shown.decode().splitlines() == ["grader-daemon: model:opus is", "not one of the known models"]


def test_an_error_in_a_pipe_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    output.error("word " * 99 + "end")
    assert capsys.readouterr().err == "word " * 99 + "end\n"


def test_failures_say_whether_the_session_got_over_them(capsys: pytest.CaptureFixture[str]) -> None:
    probe = Failure(4, "terminal", Category.FILE_NOT_FOUND, "ls", kind=FailureKind.PROBE)
    output.failures(grade(failures=(*failures(1), probe)))
    rows = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert rows[-2:] == [["2", "terminal", "command_failed", "no"], ["4", "terminal", "file_not_found", "a", "probe"]]


VERIFIED = Claim(ClaimKind.FILE_WRITTEN, Support.VERIFIED, "out/a.md", 7, (3, 5))
CONTRADICTED = Claim(
    *(ClaimKind.TESTS_PASSED, Support.CONTRADICTED, None, 7, (6,)), ClaimReason.TESTS_FAILED, words="All tests pass"
)
UNSUPPORTED = Claim(ClaimKind.SENT, Support.UNSUPPORTED, None, 7)
STALE = Claim(ClaimKind.TESTS_PASSED, Support.STALE, None, 7, (4, 5), ClaimReason.STALE)
PARTIAL = Claim(ClaimKind.ACTION_DONE, Support.PARTIAL, None, 7, (4, 5), ClaimReason.FEWER_DONE)


@pytest.mark.parametrize(
    ("claims", "told"),
    [
        pytest.param([VERIFIED, VERIFIED, CONTRADICTED], "2 verified, 1 contradicted", id="both-verdicts"),
        pytest.param([UNSUPPORTED, CONTRADICTED], "1 contradicted", id="unsupported-beside-another"),
        pytest.param([UNSUPPORTED, UNSUPPORTED], "2 unsupported", id="all-unsupported"),
        pytest.param([STALE, PARTIAL], "1 stale, 1 partial", id="in-part"),
        pytest.param([], None, id="none"),
    ],
)
def test_claims_are_told_in_a_few_words(claims: list[Claim], told: str | None) -> None:
    assert borne_out(claims) == told


def test_the_ledger_shows_each_claim_with_its_evidence(capsys: pytest.CaptureFixture[str]) -> None:
    output.ledger([VERIFIED, CONTRADICTED, UNSUPPORTED])
    assert capsys.readouterr().out.split("\n") == [
        "",
        "claim                   verdict       said in  evidence  why                  its words",
        "file written: out/a.md  verified            7  3, 5      -                    -",
        "tests passed            contradicted        7  6         the last run failed  All tests pass",
        "sent                    unsupported         7  -         -                    -",
        "",
    ]


def test_without_claims_there_is_no_ledger(capsys: pytest.CaptureFixture[str]) -> None:
    output.ledger([])
    assert capsys.readouterr().out == ""


class Terminal(StringIO):
    """What a terminal was sent."""

    def isatty(self) -> bool:
        return True


def test_a_terminal_is_told_what_takes_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    told = Terminal()
    monkeypatch.setattr(sys, "stderr", told)

    with output.busy("Learning"):
        pass

    assert "Learning" in told.getvalue()


def test_a_terminal_is_shown_how_far_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    told = Terminal()
    monkeypatch.setattr(sys, "stderr", told)

    with output.progress("Grading", 40) as advance:
        advance(10)
        advance(30)

    assert told.getvalue().startswith("\r\x1b[?25lGrading")
    assert "40/40" in told.getvalue()


def test_a_pipe_is_shown_no_progress(capsys: pytest.CaptureFixture[str]) -> None:
    with output.progress("Grading", 40) as advance:
        advance(40)

    assert capsys.readouterr().err == ""


def test_a_pipe_is_not(capsys: pytest.CaptureFixture[str]) -> None:
    with output.busy("Learning"):
        pass

    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(
    ("variable", "value"), [pytest.param("TERM", "dumb", id="dumb"), pytest.param("NO_COLOR", "1", id="no-color")]
)
def test_a_terminal_that_knows_no_styles_gets_none(monkeypatch: pytest.MonkeyPatch, variable: str, value: str) -> None:
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    assert output.styled("head", bold=True) != "head"

    monkeypatch.setenv(variable, value)

    assert output.styled("head", bold=True) == "head"
