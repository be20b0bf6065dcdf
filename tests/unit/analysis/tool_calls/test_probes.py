from __future__ import annotations

import json

import pytest

from grader_daemon.analysis.analyzer import Analyzer
from grader_daemon.analysis.tool_calls.probes import MOST_LOOKS
from grader_daemon.domain.analysis import Analysis, FailureKind
from grader_daemon.domain.session import FunctionCall, Message, ToolCall
from grader_daemon.rules import load_rules
from tests.strategies import WORKED, answer, session, user
from tests.timing import is_done_within

HARMFUL, RECOVERED, PROBE = FailureKind.HARMFUL, FailureKind.RECOVERED, FailureKind.PROBE
GREEN = json.dumps({"output": "1 passed in 0.1s", "exit_code": 0, "error": None})
RED = json.dumps({"output": "1 failed in 0.1s", "exit_code": 1, "error": None})


@pytest.fixture(scope="module")
def analyzer() -> Analyzer:
    return Analyzer(load_rules())


def ran(number: int, command: str, result: str, *, tool: str = "terminal") -> tuple[Message, Message]:
    return called(number, tool, {"command": command}, result)


def called(number: int, tool: str, arguments: object, result: str) -> tuple[Message, Message]:
    written = arguments if isinstance(arguments, str) else json.dumps(arguments)
    made = ToolCall(id=f"c{number}", function=FunctionCall(name=tool, arguments=written))
    return (
        Message(role="assistant", content="", tool_calls=(made,), finish_reason="tool_calls"),
        Message(role="tool", content=result, name=tool, tool_call_id=f"c{number}"),
    )


def missing(path: str) -> str:
    return json.dumps({"output": f"cat: {path}: No such file or directory", "exit_code": 1, "error": None})


def kinds(found: Analysis) -> list[FailureKind]:
    return [failure.kind for failure in found.failures]


def test_red_runs_are_expected_until_a_file_that_is_no_test_changes(analyzer: Analyzer) -> None:
    found = analyzer.analyze(
        session(
            user("Fix it"),
            *ran(1, "pytest -q", RED),
            *called(2, "write_file", {"path": "tests/test_a.py", "content": ""}, '{"bytes_written": 0}'),
            *ran(3, "pytest -q", RED),
            *called(4, "patch", {"path": "src/a.py"}, '{"success": true}'),
            *ran(5, "pytest -q", RED),
            *ran(6, "pytest -q", GREEN),
            answer("Fixed."),
        )
    )
    assert kinds(found) == [PROBE, PROBE, RECOVERED]
    assert found.total_errors == 1


@pytest.mark.parametrize(
    ("edit", "kind"),
    [
        pytest.param(called(1, "patch", {"path": "src/a.py"}, '{"success": false}'), PROBE, id="edit-that-failed"),
        pytest.param(called(1, "apply_patch", {"patch": "x"}, '{"success": true}'), HARMFUL, id="edit-without-a-path"),
        pytest.param(called(1, "patch", "", '{"success": true}'), PROBE, id="edit-without-arguments"),
        pytest.param((Message(role="tool", content=WORKED, name="patch"),), PROBE, id="result-without-a-call"),
    ],
)
def test_only_an_edit_that_is_known_ends_the_wait_for_green(
    analyzer: Analyzer, edit: tuple[Message, ...], kind: FailureKind
) -> None:
    found = analyzer.analyze(session(user("Fix it"), *edit, *ran(2, "pytest", RED), answer("No.")))
    assert found.failures[-1].kind is kind


def test_an_agent_that_misses_too_often_is_lost(analyzer: Analyzer) -> None:
    looks = [ran(number, f"cat /srv/{number}.txt", missing(f"/srv/{number}.txt")) for number in range(MOST_LOOKS + 5)]
    found = analyzer.analyze(session(user("Look around"), *[part for look in looks for part in look], answer("No.")))
    assert kinds(found) == [PROBE] * MOST_LOOKS + [HARMFUL] * 5


class _Searched(str):
    """A text that counts how often it is searched for what stands below a folder."""

    searches = 0

    def __contains__(self, piece: object) -> bool:
        assert isinstance(piece, str)
        if piece.startswith("/srv/app"):
            type(self).searches += 1
        return super().__contains__(piece)


def test_a_text_is_searched_once_for_all_files_of_a_folder(analyzer: Analyzer) -> None:
    looks = [
        ran(number, f"cat /srv/app/{number}.txt", missing(f"/srv/app/{number}.txt")) for number in range(MOST_LOOKS)
    ]
    found = analyzer.analyze(session(user(_Searched("Find it")), *[message for look in looks for message in look]))
    assert kinds(found) == [PROBE] * MOST_LOOKS
    assert _Searched.searches == 1


def test_what_was_spoken_of_is_known_in_any_number_of_folders(analyzer: Analyzer) -> None:
    paths = [f"/srv/{number}/a.txt" for number in range(MOST_LOOKS)]
    looks = [ran(number, f"cat {path}", missing(path)) for number, path in enumerate(paths)]
    found = analyzer.analyze(
        session(user(f"Mend {paths[3]} and {paths[-1]}"), *[message for look in looks for message in look])
    )
    assert [place for place, kind in enumerate(kinds(found)) if kind is HARMFUL] == [3, MOST_LOOKS - 1]


def test_probes_count_nowhere(analyzer: Analyzer) -> None:
    looks = [ran(number, f"cat /srv/{number}.txt", missing(f"/srv/{number}.txt")) for number in range(8)]
    found = analyzer.analyze(session(user("Look around"), *[part for look in looks for part in look], answer("No.")))

    assert kinds(found) == [PROBE] * 8
    assert (found.errors, found.signs, found.total_errors, found.error_rate) == ((), (), 0, 0.0)
    assert not found.had_repeated_errors
    assert not found.had_infinite_loop_risk
    assert found.errors_recovered
    assert [use.failures for use in found.tools] == [0]
    assert {failure.fingerprint for failure in found.failures} == {None}


def test_a_probe_neither_ends_nor_lengthens_a_row_of_errors(analyzer: Analyzer) -> None:
    broke = json.dumps({"output": "boom", "exit_code": 3, "error": None})
    messages = [
        *ran(1, "make", broke),
        *ran(2, "make", broke),
        *ran(3, "which node", RED),
        *ran(4, "which deno", RED),
    ]
    assert not analyzer.analyze(session(user("Go"), *messages, answer("No."))).had_repeated_errors
    messages += ran(5, "make", broke)
    assert analyzer.analyze(session(user("Go"), *messages, answer("No."))).had_repeated_errors


def test_what_only_a_failure_named_was_never_seen(analyzer: Analyzer) -> None:
    found = analyzer.analyze(
        session(
            user("Go"),
            *ran(1, "python /srv/run.py", json.dumps({"output": "open: /srv/a.txt", "exit_code": 3, "error": None})),
            *ran(2, "cat /srv/a.txt", missing("/srv/a.txt")),
            answer("No."),
        )
    )
    assert kinds(found) == [HARMFUL, PROBE]


def test_a_look_at_what_the_message_does_not_name_is_about_all_its_paths(analyzer: Analyzer) -> None:
    said = json.dumps({"output": "ls: cannot access: No such file or directory", "exit_code": 2, "error": None})
    found = analyzer.analyze(session(user("Go"), *ran(1, "ls /a /b", said), *ran(2, "ls", said), answer("No.")))
    assert kinds(found) == [PROBE, HARMFUL]


@pytest.mark.no_cover
def test_many_looks_and_red_runs_take_linear_time(analyzer: Analyzer) -> None:
    looks = [ran(number, f"cat /srv/{number}", missing(f"/srv/{number}")) for number in range(2_000)]
    runs = [ran(number, "pytest", RED) for number in range(3_000, 5_000)]
    many = session(user("Go"), *[part for made in looks + runs for part in made], answer("No."))

    assert is_done_within(5, lambda: analyzer.analyze(many))
