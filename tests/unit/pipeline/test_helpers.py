from __future__ import annotations

import os
import pickle
import resource
import signal
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from datetime import UTC
from time import monotonic

import pytest

from grader_daemon.domain.ledger import FileState, LedgerEntry
from grader_daemon.domain.limits import Limits
from grader_daemon.domain.rules import Rules
from grader_daemon.domain.unit import NOWHERE, Unit
from grader_daemon.domain.verdict import CompletionPolicy
from grader_daemon.pipeline import helper_process, helpers
from grader_daemon.pipeline.crash_marks import CrashMarks
from grader_daemon.pipeline.examine import Examined, Examiner, TroubledUnit
from grader_daemon.pipeline.helper_process import HelperProcess, Task
from grader_daemon.pipeline.helpers import LARGE_BYTES, Helpers, processes_for, useful_helpers
from grader_daemon.pipeline.trouble import ENDED_THE_DAEMON
from tests.conftest import IDLE, SessionWriter
from tests.misbehaving import Deadly, Endless, Wrong
from tests.strategies import NOW, json_answer, json_round, json_user
from tests.units import hermes, unit, units
from tests.waiting import wait_until

TURN = [json_user(), *json_round(), json_answer()]
PATIENCE_SECONDS = 60.0

Make = Callable[[type[Examiner]], Examiner]
Bugs = list[tuple[Unit, Exception]]


def look_up(some: Sequence[Unit]) -> list[Task]:
    """As a ledger that knows nothing."""
    return [Task(each, None, None) for each in some]


@pytest.mark.parametrize(("cores", "few", "many"), [(1, 1, 1), (3, 1, 3), (64, 1, 4)])
def test_many_units_are_examined_on_all_processors_up_to_four(
    monkeypatch: pytest.MonkeyPatch, cores: int, few: int, many: int
) -> None:
    monkeypatch.setattr(helpers, "usable_cores", lambda: cores)
    assert (processes_for(999), processes_for(1000), useful_helpers()) == (few, many, many)


@pytest.fixture
def pool(bugs: Bugs) -> Iterator[Helpers]:
    with closing(CrashMarks()) as marks:
        made = Helpers(most=2, marks=marks, look_up=look_up, on_bug=lambda *bug: bugs.append(bug))
        yield made
        made.end()


@pytest.fixture
def make(rules: Rules) -> Make:
    return lambda kind: kind(rules, CompletionPolicy(), hermes(), zone=UTC, idle=IDLE, limits=Limits())


@pytest.fixture
def harmless(write_session: SessionWriter) -> list[str]:
    return [write_session(TURN, session_id=f"harmless_{number}") for number in range(8)]


def found_of(pool: Helpers, examiner: Examiner, paths: Sequence[str]) -> dict[str, Examined]:
    """Hand all out, and return what is found, by path."""
    pool.add(units(paths))
    found, deadline = {}, monotonic() + PATIENCE_SECONDS
    while pool.busy and monotonic() < deadline:
        pool.hand_out(examiner, NOW)
        found.update({examined.unit.locator: examined for examined, _ in pool.collect(0.1, NOW)})
    assert not pool.busy
    return found


def pids(pool: Helpers) -> list[int]:
    return [helper._process.pid for helper in pool._helpers.values()]


def as_here(make: Make, paths: Sequence[str]) -> dict[str, Examined]:
    return {path: make(Examiner).examine(unit(path), now=NOW) for path in paths}


def test_they_find_what_is_found_here(
    pool: Helpers, make: Make, harmless: list[str], write_session: SessionWriter
) -> None:
    paths = [*harmless, write_session(session_id="cut", content=b'{"messages": ['), "/nowhere/session_x.json"]

    assert found_of(pool, make(Examiner), paths) == as_here(make, paths)


@pytest.mark.thorough
def test_no_more_processes_are_started_than_there_is_work_for(pool: Helpers, make: Make, harmless: list[str]) -> None:
    found_of(pool, make(Examiner), harmless[:1])
    assert pool.running == 1
    found_of(pool, make(Examiner), harmless)
    assert pool.running == 2


def test_a_process_serves_until_the_policy_changes(pool: Helpers, make: Make, harmless: list[str]) -> None:
    examiner = make(Examiner)
    found_of(pool, examiner, harmless)
    first = pids(pool)
    found_of(pool, examiner, harmless)
    assert pids(pool) == first

    found_of(pool, examiner.with_policy(CompletionPolicy()), harmless)
    assert not set(pids(pool)) & set(first)


def test_a_file_that_never_ends_is_given_up_and_its_neighbours_are_examined(
    pool: Helpers, make: Make, harmless: list[str], write_session: SessionWriter, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(helper_process, "_LEAST_CPU_SECONDS", 1.0)
    endless = write_session(TURN, session_id="endless")

    found = found_of(pool, make(Endless), [*harmless[:4], endless, *harmless[4:]])

    trouble = found.pop(endless)
    assert isinstance(trouble, TroubledUnit)
    assert "max_cpu_seconds_per_100_mb = 20 allows" in trouble.error
    assert not trouble.hope
    assert found == as_here(make, harmless)


def test_how_long_a_process_has_computed_is_asked_seldom_however_often_it_is_waited_for(
    pool: Helpers, make: Make, write_session: SessionWriter, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On macOS that starts a program each time."""
    asked: list[HelperProcess] = []

    def noted(helper: HelperProcess) -> bool:
        asked.append(helper)
        return False

    monkeypatch.setattr(HelperProcess, "is_over_limit", noted)
    monkeypatch.setattr(helpers, "_CHECK_SECONDS", PATIENCE_SECONDS)
    pool.add([unit(write_session(TURN))])
    pool.hand_out(make(Endless), NOW)

    for _ in range(5):
        assert pool.collect(0, NOW) == []

    assert len(asked) == 1


def test_a_file_that_ends_its_process_is_in_trouble_and_its_neighbours_are_not(
    pool: Helpers, make: Make, harmless: list[str], write_session: SessionWriter
) -> None:
    deadly = write_session(TURN, session_id="deadly")

    found = found_of(pool, make(Deadly), [*harmless[:4], deadly, *harmless[4:]])

    trouble = found.pop(deadly)
    assert isinstance(trouble, TroubledUnit)
    assert "crashed (SIGSEGV); if it needs too much memory" in trouble.error
    assert trouble.hope
    assert found == as_here(make, harmless)


@pytest.mark.thorough
def test_a_process_that_is_killed_without_a_file_in_hand_is_nobodys_fault(
    pool: Helpers, make: Make, harmless: list[str]
) -> None:
    examiner = make(Examiner)
    found_of(pool, examiner, harmless)
    for pid in pids(pool):
        os.kill(pid, signal.SIGKILL)

    assert found_of(pool, examiner, harmless) == as_here(make, harmless)


def test_where_processes_end_at_once_small_files_are_examined_here(
    pool: Helpers, make: Make, harmless: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.executable", "/bin/false")

    found = found_of(pool, make(Examiner), harmless)

    assert found == as_here(make, harmless)


def test_a_bug_is_told_with_its_traceback(pool: Helpers, make: Make, write_session: SessionWriter, bugs: Bugs) -> None:
    path = write_session(TURN)

    found = found_of(pool, make(Wrong), [path])[path]

    assert isinstance(found, TroubledUnit)
    assert found.error == "internal error: ZeroDivisionError: in the helper"
    [(where, error)] = bugs
    assert where == unit(path)
    assert "Traceback (most recent call last)" in str(error)


def test_without_a_descriptor_for_a_process_small_files_are_examined_here(
    pool: Helpers, make: Make, harmless: list[str], write_session: SessionWriter
) -> None:
    large = write_session(session_id="large", content=b" " * (LARGE_BYTES + 1))
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    pool._marks.open()
    lowest = os.open(large, os.O_RDONLY)
    resource.setrlimit(resource.RLIMIT_NOFILE, (lowest + 1, hard))  # to read a file, and not for a pair of sockets
    os.close(lowest)
    try:
        found = found_of(pool, make(Examiner), [*harmless, large])
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))

    trouble = found.pop(large)
    assert isinstance(trouble, TroubledUnit)
    assert trouble.error.startswith("cannot start a process to grade it: [Errno 24] Too many open files")
    assert trouble.hope
    assert found == as_here(make, harmless)


def test_large_files_are_examined_alone_and_together_no_larger_than_the_largest(
    pool: Helpers, make: Make, harmless: list[str], write_session: SessionWriter, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(helpers, "LARGE_BYTES", 1_000)
    large = [write_session([json_user("x" * 2_000), json_answer()], session_id=f"large_{n}") for n in range(2)]
    examiner = make(Examiner)
    pool.add(units([*large, *harmless]))
    examiner.limits = Limits(bytes=3_000)

    pool.hand_out(examiner, NOW)

    in_hand = sorted([task.unit.locator for task in helper.in_hand] for helper in pool._helpers.values())
    assert [large[0]] in in_hand
    assert not any(large[1] in chunk for chunk in in_hand)
    assert found_of(pool, examiner, []) == as_here(make, [*large, *harmless])


def test_they_end_when_they_were_not_needed_for_a_while(
    pool: Helpers, make: Make, harmless: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    found_of(pool, make(Examiner), harmless)
    pool.rest()
    assert pool.running == 2
    ended = pids(pool)

    monkeypatch.setattr(helpers, "_IDLE_SECONDS", 0.0)
    pool.rest()
    assert pool.running == 0
    for pid in ended:
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)


def test_what_they_read_is_marked(pool: Helpers, make: Make, write_session: SessionWriter) -> None:
    path = write_session(TURN)
    pool.add([unit(path)])
    pool.hand_out(make(Endless), NOW)
    wait_until(lambda: pool._marks.of(1).read() == unit(path), "the mark of what it reads")

    pool.end()
    assert not pool.busy
    assert pool._marks.of(1).read() is None


def _row(attempts: int, reason: str) -> LedgerEntry:
    return LedgerEntry(
        unit=unit("x"), stamp=NOWHERE, written_ns=0, state=FileState.RETRY, attempts=attempts, reason=reason
    )


@pytest.mark.parametrize(
    ("file", "expected"),
    [
        pytest.param((LARGE_BYTES, None), False, id="not-large"),
        pytest.param((LARGE_BYTES + 1, None), True, id="large"),
        pytest.param((1, _row(1, ENDED_THE_DAEMON)), True, id="ended-the-daemon"),
        pytest.param((1, _row(2, "the process that graded it crashed (SIGKILL)")), True, id="ended-the-helper"),
        pytest.param((1, _row(1, "the JSON ends too early")), False, id="other-trouble"),
    ],
)
def test_large_files_and_suspects_are_examined_alone(
    pool: Helpers, make: Make, write_session: SessionWriter, file: tuple[int, LedgerEntry | None], expected: bool
) -> None:
    size, known = file
    path = write_session(content=b" " * size)
    assert pool.is_heavy(make(Examiner), Task(unit(path), None, known)) is expected


def test_a_file_that_is_gone_is_not_large(pool: Helpers, make: Make) -> None:
    assert not pool.is_heavy(make(Examiner), Task(unit("/nowhere/session_x.json"), None, None))


def test_an_examiner_goes_to_another_process(make: Make, write_session: SessionWriter) -> None:
    examiner, path = make(Examiner), unit(write_session(TURN))

    assert pickle.loads(pickle.dumps(examiner)).examine(path, now=NOW) == examiner.examine(path, now=NOW)
