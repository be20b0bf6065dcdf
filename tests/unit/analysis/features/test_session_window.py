from __future__ import annotations

import pytest

from grader_daemon.analysis.features.session_window import RecentMessages, SessionWindow, window_of
from grader_daemon.domain.analysis import Outcome
from tests.calls import call_of
from tests.strategies import answer, result


def _window(recent: RecentMessages, request: str | None = None) -> SessionWindow:
    return window_of(recent, None, request=request, cut_off=False, failures=(), claims=(), signals=())


def test_only_the_last_messages_are_kept() -> None:
    recent = RecentMessages()
    for number in range(100):
        recent.note_answer(answer(f"say {number}"), [call_of("t", str(number))])
        recent.note_person(f"do {number}")
        recent.results.append((result(f"got {number}"), Outcome.SUCCESS))
    window = _window(recent, "do 0")
    assert window.turns == window.count_people == 100
    assert max(len(window.said), len(window.calls), len(window.results), len(window.people)) <= 12
    assert (window.answer, window.calls[-1].arguments, window.results[-1].body) == ("say 99", "99", "got 99")


def test_the_answer_is_the_last_text_even_when_calls_follow() -> None:
    recent = RecentMessages()
    recent.note_answer(answer(" Said. "))
    recent.note_answer(answer(""), [call_of("t")])
    recent.note_answer(answer(" \n"))
    assert _window(recent).answer == "Said."


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
    assert _window(RecentMessages(), request_text).about_files is about_files


def test_files_that_were_written_make_it_work_on_files() -> None:
    recent = RecentMessages()
    recent.note_answer(answer(""), [call_of("write_file", '{"content": ""}')])
    assert _window(recent, "Who?").about_files
