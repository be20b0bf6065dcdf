from __future__ import annotations

import pytest

from grader_daemon.analysis.features.session_window import (
    RecentMessages,
    SessionWindow,
    as_words,
    each_as_words,
    ends,
    numbers,
    output,
    window_of,
)
from grader_daemon.analysis.session_state import LastWord
from grader_daemon.domain.analysis import CallStatus
from tests.calls import call_of
from tests.strategies import answer, result


def _window(recent: RecentMessages, request: str | None = None) -> SessionWindow:
    return window_of(recent, LastWord.ANSWER, request=request)


def test_only_the_last_messages_are_kept() -> None:
    recent = RecentMessages()
    for number in range(100):
        recent.note_answer(answer(f"say {number}"), [call_of("t", str(number))])
        recent.note_person(f"do {number}")
        recent.note_result(result(f"got {number}"), CallStatus.SUCCESS, call_of("t"))
    window = _window(recent, "do 0")
    assert window.turns == window.count_people == 100
    assert max(len(window.said), len(window.calls), len(window.results), len(window.people)) <= 12
    assert len(window.steps) <= 24
    assert (window.answer, window.arguments[-1], window.results[-1].body) == ("say 99", "99", "got 99")


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


def test_a_long_text_loses_its_middle() -> None:
    assert ends("a" * 10 + "b" * 10 + "c" * 10, 10) == "a" * 10 + " " + "c" * 10


@pytest.mark.parametrize(
    ("text", "seen"),
    [
        pytest.param("plain", "plain", id="plain-text-stays"),
        pytest.param('{"output": "two rows", "exit_code": 0, "error": null}', "two rows", id="command"),
        pytest.param('{"output": "cut', "cut", id="json-that-was-cut"),
    ],
)
def test_the_output_of_a_command_is_seen_without_the_json_around_it(text: str, seen: str) -> None:
    assert output(text, 100) == seen


@pytest.mark.parametrize(
    ("text", "found"),
    [
        pytest.param("Don't STOP", b"dont stop", id="lower-case-and-no-apostrophes"),
        pytest.param("a_b-c", b"a_b c", id="underscores-belong-to-words"),
        pytest.param("größe", "größe".encode(), id="letters-beyond-ascii-stay"),
        pytest.param("\ud800", b" ", id="half-a-character"),
    ],
)
def test_a_text_becomes_words_with_spaces_between(text: str, found: bytes) -> None:
    assert as_words(text) == found


def test_numbers_are_the_words_that_begin_with_a_digit() -> None:
    assert numbers({b"12", b"apples", b"3rd", b"no", b"4"}) == {b"12", b"3rd", b"4"}


@pytest.mark.parametrize(
    "texts",
    [
        pytest.param([], id="none"),
        pytest.param(["One, two", "", "DON'T"], id="some"),
        pytest.param(["a\0b", "c"], id="a-character-that-stands-between"),
    ],
)
def test_texts_are_made_plain_together_as_each_by_itself(texts: list[str]) -> None:
    assert each_as_words(texts) == [as_words(text) for text in texts]
