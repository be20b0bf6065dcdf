from __future__ import annotations

import os
import pickle
import resource
from collections.abc import Callable, Iterator
from datetime import UTC
from time import monotonic

import pytest

from grader_daemon.domain.ledger import FileState, LedgerEntry
from grader_daemon.domain.limits import Limits
from grader_daemon.domain.rules import Rules
from grader_daemon.domain.unit import NOWHERE, Unit
from grader_daemon.domain.verdict import CompletionPolicy
from grader_daemon.pipeline import helper_process
from grader_daemon.pipeline.commit import IngestOutcome
from grader_daemon.pipeline.examine import BusyUnit, Examined, Examiner, TroubledUnit
from grader_daemon.pipeline.helper_process import LARGE_BYTES, HelperProcess
from grader_daemon.pipeline.ingest import Ingest
from grader_daemon.pipeline.trouble import ENDED_THE_DAEMON
from tests.conftest import IDLE, SessionWriter
from tests.misbehaving import Deadly, Endless, Wrong
from tests.strategies import NOW, json_answer, json_round, json_user
from tests.units import hermes, unit

TURN = [json_user(), *json_round(), json_answer()]
BUDGET = "max_cpu_seconds_per_100_mb = 20 allows"

Make = Callable[[type[Examiner]], Examiner]


class Patience:
    """Allows waiting until it is told otherwise, after so many questions."""

    def __init__(self) -> None:
        self.questions = 0
        self.ends_after = 1_000_000

    def __call__(self) -> bool:
        self.questions += 1
        return self.questions <= self.ends_after


@pytest.fixture
def patience() -> Patience:
    return Patience()


@pytest.fixture
def helper(patience: Patience) -> Iterator[HelperProcess]:
    made = HelperProcess(may_wait=patience)
    yield made
    made.end()


@pytest.fixture
def make(rules: Rules) -> Make:
    return lambda kind: kind(rules, CompletionPolicy(), hermes(), zone=UTC, idle=IDLE, limits=Limits())


def examine(helper: HelperProcess, examiner: Examiner, path: str) -> Examined:
    def on_bug(failed: Unit, error: Exception) -> None:
        pytest.fail(f"a bug with {failed}: {error}")

    return helper.examine(examiner, unit(path), now=NOW, known=None, on_bug=on_bug)


def running(helper: HelperProcess) -> int | None:
    """The id of the process, if there is one."""
    return helper._process.pid if helper._process is not None else None


def test_it_finds_what_is_found_here(helper: HelperProcess, make: Make, write_session: SessionWriter) -> None:
    paths = [write_session(TURN), write_session(session_id="cut", content=b'{"messages": ['), "/nowhere/session_x.json"]
    examiner = make(Examiner)

    assert [examine(helper, examiner, path) for path in paths] == [
        examiner.examine(unit(path), now=NOW) for path in paths
    ]


def test_one_process_serves_until_the_policy_changes(
    helper: HelperProcess, make: Make, write_session: SessionWriter
) -> None:
    path, examiner = write_session(TURN), make(Examiner)
    examine(helper, examiner, path)
    first = running(helper)
    examine(helper, examiner, path)
    assert running(helper) == first

    examine(helper, examiner.with_policy(CompletionPolicy()), path)
    assert running(helper) not in (None, first)


def test_a_file_that_never_ends_is_given_up(
    helper: HelperProcess, make: Make, write_session: SessionWriter, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(helper_process, "_LEAST_CPU_SECONDS", 1.0)
    found = examine(helper, make(Endless), write_session(TURN))

    assert isinstance(found, TroubledUnit)
    assert BUDGET in found.error
    assert not found.hope
    assert running(helper) is None


def test_who_may_not_wait_any_longer_leaves_the_file(
    helper: HelperProcess, make: Make, write_session: SessionWriter, patience: Patience
) -> None:
    path, patience.ends_after = write_session(TURN), 3
    began = monotonic()

    assert examine(helper, make(Endless), path) == BusyUnit(unit=unit(path))
    assert monotonic() - began < 5
    assert running(helper) is None


def test_a_file_that_ends_the_process_is_tried_again(
    helper: HelperProcess, make: Make, write_session: SessionWriter
) -> None:
    path = write_session(TURN)
    found = examine(helper, make(Deadly), path)

    assert isinstance(found, TroubledUnit)
    assert "ended (SIGSEGV); if it takes more memory than there is" in found.error
    assert found.hope
    assert examine(helper, make(Examiner), path) == make(Examiner).examine(unit(path), now=NOW)


def test_a_bug_is_told_with_its_traceback(helper: HelperProcess, make: Make, write_session: SessionWriter) -> None:
    bugs: list[tuple[Unit, Exception]] = []
    path = write_session(TURN)

    found = helper.examine(make(Wrong), unit(path), now=NOW, known=None, on_bug=lambda *bug: bugs.append(bug))

    assert isinstance(found, TroubledUnit)
    assert found.error == "internal error: ZeroDivisionError: in the helper"
    [(where, error)] = bugs
    assert where == unit(path)
    assert "Traceback (most recent call last)" in str(error)


def test_no_descriptor_is_left_for_it(helper: HelperProcess, make: Make, write_session: SessionWriter) -> None:
    path, examiner = write_session(TURN), make(Examiner)
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    lowest = os.open(path, os.O_RDONLY)
    os.close(lowest)
    resource.setrlimit(resource.RLIMIT_NOFILE, (lowest, hard))
    try:
        found = examine(helper, examiner, path)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))

    assert isinstance(found, TroubledUnit)
    assert found.error.startswith("no process can be started to grade it: [Errno 24] Too many open files")
    assert found.hope


def test_it_ends_when_it_was_not_needed_for_a_while(
    helper: HelperProcess, make: Make, write_session: SessionWriter, monkeypatch: pytest.MonkeyPatch
) -> None:
    examine(helper, make(Examiner), write_session(TURN))
    helper.rest()
    pid = running(helper)
    assert pid is not None

    monkeypatch.setattr(helper_process, "_IDLE_SECONDS", 0.0)
    helper.rest()
    assert running(helper) is None
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


def _row(attempts: int, reason: str) -> LedgerEntry:
    return LedgerEntry(
        unit=unit("x"), stamp=NOWHERE, written_ns=0, state=FileState.RETRY, attempts=attempts, reason=reason
    )


@pytest.mark.parametrize(
    ("size", "known", "expected"),
    [
        pytest.param(LARGE_BYTES, None, False, id="not-large"),
        pytest.param(LARGE_BYTES + 1, None, True, id="large"),
        pytest.param(1, _row(1, ENDED_THE_DAEMON), True, id="ended-the-daemon"),
        pytest.param(1, _row(2, "the process that was to grade it ended (SIGKILL)"), True, id="ended-the-helper"),
        pytest.param(1, _row(1, "the JSON stops before its end"), False, id="other-trouble"),
    ],
)
def test_it_is_for_large_files_and_for_suspects(
    ingest: Ingest, write_session: SessionWriter, size: int, known: LedgerEntry | None, expected: bool
) -> None:
    helper = HelperProcess(may_wait=lambda: True)
    assert helper.is_for(ingest.examiner, unit(write_session(content=b" " * size)), known) is expected


def test_it_is_not_for_files_that_are_gone(helper: HelperProcess, examiner: Examiner) -> None:
    assert not helper.is_for(examiner, unit("/nowhere/session_x.json"), None)


def test_ingest_hands_a_large_file_over(
    ingest: Ingest, helper: HelperProcess, write_session: SessionWriter, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(helper_process, "LARGE_BYTES", 100)
    monkeypatch.setattr(ingest, "_helper", helper)
    [recorded], _ = ingest.ingest([unit(write_session(TURN))], within_seconds=60)
    assert recorded.outcome is IngestOutcome.GRADED
    assert running(helper) is not None

    ingest.close()
    assert running(helper) is None


def test_an_examiner_goes_to_another_process(make: Make, write_session: SessionWriter) -> None:
    examiner, path = make(Examiner), unit(write_session(TURN))

    assert pickle.loads(pickle.dumps(examiner)).examine(path, now=NOW) == examiner.examine(path, now=NOW)
