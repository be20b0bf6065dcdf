"""From what an agent hands over to what it is answered."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import closing
from datetime import timedelta

import pytest
from structlog.testing import capture_logs

from grader_daemon.bootstrap import make_sources
from grader_daemon.errors import InputError
from grader_daemon.hook.answering import Answer, Answering
from grader_daemon.hook.hooked_agents import Mode
from grader_daemon.hook.stop_claims import StopReader
from grader_daemon.hook.store import HookTable
from grader_daemon.hook.trial import is_drawn
from grader_daemon.rules import load_rules
from grader_daemon.storage.sqlite.store import SqliteStore
from tests.strategies import NOW
from tests.transcripts import SESSION, Transcript, call
from tests.unit.hook.conftest import Home, transcript


@pytest.fixture
def answering(home: Home) -> Iterator[Answering]:
    """What answers, with a database of its own."""
    store = SqliteStore(home.settings.db_path)
    reader = StopReader(make_sources(home.settings), load_rules(None))
    with closing(Answering(reader, store, lambda: NOW)) as answering:
        yield answering


def kept(home: Home) -> list[tuple[str, bool]]:
    with closing(SqliteStore(home.settings.db_path)) as store:
        return [(each.claim, each.is_told) for each in HookTable(store).since(NOW - timedelta(days=1))]


def test_the_person_is_told_in_one_line(home: Home, answering: Answering) -> None:
    answer = answering.answer(home.request("tell"))
    said = json.loads(answer.text)["systemMessage"]
    assert said.startswith('grader-daemon: said "All tests pass')
    assert said.endswith('message 2: "1 failed, 2 passed in 0.10s"')
    assert "\n" not in said


def test_the_agent_is_asked_to_check(home: Home, answering: Answering) -> None:
    reply = json.loads(answering.answer(home.request("block")).text)
    assert reply["decision"] == "block"
    assert "not an instruction" in reply["reason"]


def test_a_stop_is_blocked_once(home: Home, answering: Answering) -> None:
    second = answering.answer(home.request("block", home.stop(stop_hook_active=True)))
    assert list(json.loads(second.text)) == ["systemMessage"]


def test_what_is_only_logged_is_answered_with_nothing(home: Home, answering: Answering) -> None:
    answer = answering.answer(home.request("log"))
    assert (answer.text, len(answer.findings)) == (b"", 1)


def test_nothing_is_told_twice_and_what_came_too_late_is_told_again(home: Home, answering: Answering) -> None:
    late = answering.answer(home.request())
    answering.keep(late, is_told=False)
    assert kept(home) == [("All tests pass", False)]
    again = answering.answer(home.request())
    assert again.text == late.text
    with capture_logs() as logged:
        answering.keep(again, is_told=True)
    assert kept(home) == [("All tests pass", True)]
    assert [(each["event"], each["is_told"], each["session_id"]) for each in logged] == [("hook.found", True, SESSION)]
    assert answering.answer(home.request()) == Answer(b"", "claude-code", Mode.TELL, SESSION)
    answering.keep(again, is_told=False)
    assert kept(home) == [("All tests pass", True)]


@pytest.mark.parametrize(
    "tests",
    [pytest.param("3 passed in 0.10s", id="they-passed"), pytest.param("", id="nothing-is-known")],
)
def test_an_answer_that_the_record_does_not_contradict_is_left_alone(
    home: Home, answering: Answering, tests: str
) -> None:
    transcript(tests).write(home.transcript)
    answer = answering.answer(home.request())
    assert (answer.text, answer.findings) == (b"", ())


def test_the_answer_in_the_file_counts_once(home: Home, answering: Answering) -> None:
    made = transcript()
    made.answer("All tests pass.")
    made.write(home.transcript)
    assert len(answering.answer(home.request()).findings) == 1
    assert len(answering.answer(home.request(payload=home.stop(None))).findings) == 1


def test_an_agent_that_waits_for_work_in_the_background_does_not_stop(home: Home, answering: Answering) -> None:
    waiting = home.stop(background_tasks=[{"id": "1"}])
    assert answering.answer(home.request(payload=waiting)) == Answer()


def test_files_elsewhere_are_not_read(home: Home, answering: Answering) -> None:
    elsewhere = home.transcript.parents[3] / home.transcript.name
    transcript().write(elsewhere)
    assert answering.answer(home.request(payload=home.stop(transcript_path=str(elsewhere)))) == Answer()
    assert answering.answer(home.request(payload=home.stop(transcript_path=None))) == Answer()
    assert answering.answer(home.request(agent="codex")) == Answer()


@pytest.mark.parametrize(
    ("request_", "said"),
    [
        (b"", "expected an agent, a mode and a length first"),
        (b"claude-code shout 2\n{}", "expected an agent, a mode and a length first"),
        (b"cursor tell 2\n{}", "expected an agent, a mode and a length first"),
        (b"claude-code tell 1\n{", "Claude Code sent the hook unknown data"),
        (b'hermes block 2\n{"session_id": 1}', "Hermes sent the hook unknown data"),
    ],
)
def test_what_no_agent_sends_is_refused(answering: Answering, request_: bytes, said: str) -> None:
    with pytest.raises(InputError, match=said):
        answering.answer(request_)


def test_while_a_trial_runs_one_of_two_is_told_nothing(home: Home, answering: Answering) -> None:
    with closing(SqliteStore(home.settings.db_path)) as store:
        table = HookTable(store)
        with store.transaction():
            table.begin_trial(NOW)
        trial = table.running()
    assert trial is not None
    answer = answering.answer(home.request())
    assert bool(answer.text) is is_drawn(trial, SESSION)
    assert len(answer.findings) == 1
    answering.keep(answer, is_told=False)
    with closing(SqliteStore(home.settings.db_path)) as store:
        assert [each.session_id for each in HookTable(store).of_trial(trial.number)] == [SESSION]


def test_secrets_are_not_quoted(home: Home, answering: Answering) -> None:
    transcript("1 failed: token ghp_0123456789abcdefghijABCDEFGHIJ012345 is wrong").write(home.transcript)
    said = answering.answer(home.request()).text.decode()
    assert "ghp_" not in said


@pytest.mark.parametrize("is_long", [True, False])
def test_of_a_long_session_only_the_end_is_read_and_nothing_told_from_what_is_absent(
    home: Home, answering: Answering, *, is_long: bool
) -> None:
    made = Transcript()
    made.prompt("Fix the parser")
    for number in range(30):
        made.answer(call(f"r{number}", "Read", file_path=f"/work/{number}.py"), stop="tool_use")
        made.result(f"r{number}", "a line\n" * (6_000 if is_long else 10))
    made.write(home.transcript)
    answer = answering.answer(home.request(payload=home.stop("I ran `pytest -q` and I fixed the bug in `parser.py`.")))
    assert (answer.findings == ()) is is_long
    assert (home.transcript.stat().st_size > 1_000_000) is is_long


def test_in_a_session_of_which_only_the_end_is_read_no_message_is_numbered(home: Home, answering: Answering) -> None:
    made = transcript()
    for number in range(30):
        made.answer(call(f"r{number}", "Read", file_path=f"/work/{number}.py"), stop="tool_use")
        made.result(f"r{number}", "a line\n" * 6_000)
    made.answer(call("c2", command="pytest -q"), stop="tool_use")
    made.result("c2", "Exit code 1\n\n1 failed, 2 passed in 0.10s", error=True)
    made.write(home.transcript)
    said = json.loads(answering.answer(home.request()).text)["systemMessage"]
    assert said == 'grader-daemon: said "All tests pass"; the last run failed: "1 failed, 2 passed in 0.10s"'
