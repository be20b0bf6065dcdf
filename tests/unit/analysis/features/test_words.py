from __future__ import annotations

from zlib import crc32

import pytest

from grader_daemon.analysis.features.feature import share
from grader_daemon.analysis.features.hashed_words import BUCKETS, Buckets
from grader_daemon.analysis.features.session_window import as_words, each_as_words, ends, numbers, output


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


@pytest.mark.parametrize(("part", "whole", "expected"), [(0, 0, 0.0), (1, 3, 0.333), (2, 2, 1.0)])
def test_share_is_cut_to_a_thousandth(part: int, whole: int, expected: float) -> None:
    assert share(part, whole) == expected


def test_the_same_words_fall_into_the_same_buckets_on_every_machine() -> None:
    marks = Buckets().marks([b"word", b"word", b"other"])
    expected = {crc32(word) % BUCKETS for word in (b"word", b"other")}
    assert {place for place, mark in enumerate(marks) if mark} == expected
    assert (len(marks), set(marks)) == (BUCKETS, {0, 1})


def test_every_bucket_is_marked_by_itself() -> None:
    buckets = Buckets()
    words = [b"%d" % number for number in range(2_000)]
    assert buckets.marks(words) == b"\1" * BUCKETS
    assert not any(buckets.marks([]))
    assert {sum(buckets.marks([word])) for word in words} == {1}


def test_what_is_known_of_words_is_bounded_and_changes_nothing() -> None:
    words = [b"%d" % number for number in range(10_000)] + [b"x" * 1_000]
    buckets = Buckets()
    assert [buckets.marks([word]) for word in words] == [buckets.marks([word]) for word in words]
    assert len(buckets) == 4_096
    assert b"x" * 1_000 not in buckets


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
