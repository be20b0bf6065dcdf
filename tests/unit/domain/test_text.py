from __future__ import annotations

from datetime import timedelta

import pytest
from hypothesis import given

from grader_daemon.domain.text import age_words, alike, clean, count, duration_words, nearest, storable
from tests.strategies import NOW, texts


def test_escapes_and_line_breaks_become_marks() -> None:
    assert clean("a\x1b[31mb\nc\u202ed ü") == "a\ufffd[31mb\ufffdc\ufffdd ü"


@given(text=texts)
def test_nothing_but_printable_text_comes_out(text: str) -> None:
    assert clean(text).replace("\ufffd", "").isprintable()
    assert len(clean(text)) == len(text)


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        pytest.param(0.25, "0.25 s", id="part-of-a-second"),
        pytest.param(89, "89 s", id="most-seconds"),
        pytest.param(90, "1.5 min", id="fewest-minutes"),
        pytest.param(5399, "90 min", id="most-minutes"),
        pytest.param(5400, "1.5 h", id="fewest-hours"),
        pytest.param(259_200, "72 h", id="three-days"),
    ],
)
def test_a_span_of_time_reads_as_a_person_says_it(seconds: float, words: str) -> None:
    assert duration_words(seconds) == words


def test_what_is_no_text_is_stored_with_question_marks() -> None:
    assert [storable("plain"), storable("a\udcffb")] == ["plain", "a?b"]


def test_the_nearest_word_is_found_if_one_is_like_it() -> None:
    assert nearest("quite_seconds", {"quiet_seconds": 2.0, "queue_size": 7}) == "quiet_seconds"
    assert nearest("xyz", ["quiet_seconds"]) is None


@pytest.mark.parametrize(
    ("word", "near"),
    [
        pytest.param("backfil", "backfill", id="a-letter-missing"),
        pytest.param("statsu", "status", id="two-letters-swapped"),
        pytest.param("stat", "status", id="the-beginning"),
        pytest.param("does_not_say", "agent_does_not_say", id="the-end"),
        pytest.param("evidence", None, id="the-sound-of-another"),  # service: half of its letters are others
        pytest.param("nope", None, id="some-letters-of-another"),
        pytest.param("st", None, id="too-little-of-a-word"),
        pytest.param("usage", None, id="the-end-of-two"),
    ],
)
def test_only_a_slip_or_a_part_of_a_word_is_like_it(word: str, near: str | None) -> None:
    known = ["since", "service", "status", "backfill", "agent_does_not_say", "old_usage", "new_usage"]
    assert nearest(word, known) == near


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (-5, "0 s"),
        (89, "89 s"),
        (90, "2 min"),
        (89 * 60, "89 min"),
        (90 * 60, "2 h"),
        (35 * 3600, "35 h"),
        (36 * 3600, "2 d"),
    ],
)
def test_an_age_is_one_whole_number(seconds: int, words: str) -> None:
    assert age_words(NOW - timedelta(seconds=seconds), NOW) == words


def test_what_is_alike_ends_at_the_first_difference() -> None:
    assert [alike("abc", "abd"), alike("ab", "abc"), alike(["a", "b"], ["b"])] == [2, 2, 0]


def test_things_are_counted_in_their_plural() -> None:
    assert [count(number, "try", "tries") for number in (0, 1, 2)] == ["0 tries", "1 try", "2 tries"]
