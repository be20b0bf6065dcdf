from __future__ import annotations

import pytest

from grader_daemon.analysis.features.session_window import Scene, Trace, scene_of
from grader_daemon.domain.analysis import Outcome
from tests.calls import call_of
from tests.strategies import answer, result


def _scene(trace: Trace, request: str | None = None) -> Scene:
    return scene_of(trace, None, request=request, cut_off=False, failures=(), claims=(), signals=())


def test_only_the_last_messages_are_kept() -> None:
    trace = Trace()
    for number in range(100):
        trace.note_answer(answer(f"say {number}"), [call_of("t", str(number))])
        trace.note_person(f"do {number}")
        trace.results.append((result(f"got {number}"), Outcome.SUCCESS))
    scene = _scene(trace, "do 0")
    assert scene.turns == scene.count_people == 100
    assert max(len(scene.said), len(scene.calls), len(scene.results), len(scene.people)) <= 12
    assert (scene.answer, scene.calls[-1].arguments, scene.results[-1].body) == ("say 99", "99", "got 99")


def test_the_answer_is_the_last_text_even_when_calls_follow() -> None:
    trace = Trace()
    trace.note_answer(answer(" Said. "))
    trace.note_answer(answer(""), [call_of("t")])
    trace.note_answer(answer(" \n"))
    assert _scene(trace).answer == "Said."


@pytest.mark.parametrize(
    ("request_text", "about_files"),
    [
        pytest.param("Fix the bug in the repository", True, id="a-word-for-files"),
        pytest.param("Convert table.csv", True, id="the-ending-of-a-file"),
        pytest.param("Look into /var/tmp", True, id="a-path"),
        pytest.param("Is 1/2 more than 2/5?", False, id="fractions"),
        pytest.param("Who was it?", False, id="a-question"),
    ],
)
def test_work_on_files_is_told_from_questions(request_text: str, about_files: bool) -> None:
    assert _scene(Trace(), request_text).about_files is about_files


def test_files_that_were_written_make_it_work_on_files() -> None:
    trace = Trace()
    trace.note_answer(answer(""), [call_of("write_file", '{"content": ""}')])
    assert _scene(trace, "Who?").about_files
