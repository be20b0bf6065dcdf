from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grader_daemon.domain.phrases import PhraseIndex, Phrases, ascii_words_of, holds_any, uncontracted, words_of
from tests.strategies import texts


def first_of(phrases: list[str], text: str) -> str | None:
    possible = PhraseIndex([(phrase, phrase) for phrase in phrases]).possible(ascii_words_of(text))
    return next((phrase for pattern, phrase in possible if pattern.search(text)), None)


@pytest.mark.parametrize(
    ("phrase", "text", "found"),
    [
        pytest.param("Timed  Out", "it timed out.", True, id="the-case-of-a-phrase-does-not-matter"),
        pytest.param("timed out", "it timed  \t out", True, id="nor-the-white-space"),
        pytest.param("timed out", "it timed\nout", True, id="a-line-end-is-white-space"),
        pytest.param("timed out", "it timedout", False, id="some-white-space-there-must-be"),
        pytest.param("timeout", "timeouts", False, id="a-word-ends-at-its-letters"),
        pytest.param("timeout", "mytimeout", False, id="a-word-begins-at-its-letters"),
        pytest.param("timeout", "timeout_ms", False, id="an-underscore-belongs-to-the-word"),
        pytest.param("timeout", "timeouts, timeout", True, id="a-second-occurrence-is-looked-at"),
        pytest.param("fatal:", "fatal:x", True, id="a-mark-ends-a-phrase-anywhere"),
        pytest.param("tool '*' not found", "tool 'abc def' not found", True, id="a-star-is-any-text"),
        pytest.param("tool '*' not found", "tool 'a\nb' not found", False, id="of-one-line"),
        pytest.param("tool '*' not found", f"tool '{'x' * 80}' not found", True, id="of-80-characters"),
        pytest.param("tool '*' not found", f"tool '{'x' * 81}' not found", False, id="and-no-more"),
        pytest.param("http 4*", "http 404", True, id="a-star-at-the-end"),
        pytest.param("a.b", "axb", False, id="a-dot-is-a-dot"),
        pytest.param("_x", "a_x", False, id="a-phrase-may-begin-with-an-underscore"),
        pytest.param("x_", "x_a", False, id="or-end-with-one"),
        pytest.param("error", "\x1berror\x07", True, id="control-characters-belong-to-no-word"),
    ],
)
def test_phrases_are_found_as_whole_words(phrase: str, text: str, found: bool) -> None:
    assert first_of([phrase], text) == (phrase if found else None)


@pytest.mark.parametrize(
    ("text", "begins"),
    [
        pytest.param("error: x", True, id="at-the-beginning"),
        pytest.param("an error: x", False, id="later"),
        pytest.param("errors: x", False, id="another-word"),
        pytest.param("endless: x", False, id="another-word-of-the-same-letter"),
        pytest.param("foo is not a tool", True, id="after-what-a-star-stands-for"),
        pytest.param("error is not a tool", True, id="that-may-begin-as-another-phrase-does"),
    ],
)
def test_a_text_begins_with_a_phrase(text: str, begins: bool) -> None:
    assert Phrases([("nothing", 1), ("Error:", 2), ("* is not a tool", 3)]).begin(text) is begins


def test_every_occurrence_is_yielded() -> None:
    found = Phrases([("done", "d"), ("made", "m")]).occurrences("done, made, undone, done")

    assert list(found) == [(0, "d"), (20, "d"), (6, "m")]


@pytest.mark.parametrize("phrases", [pytest.param([], id="none"), pytest.param(["", "  "], id="blank")])
@given(text=texts)
def test_no_phrases_are_nowhere(phrases: list[str], text: str) -> None:
    found = Phrases([(phrase, None) for phrase in phrases])

    assert (found.begin(text), list(found.occurrences(text)), first_of(phrases, text)) == (False, [], None)


def test_the_first_phrase_decides_not_the_first_place() -> None:
    assert first_of(["second", "first"], "first, second") == "second"


def test_a_phrase_may_begin_with_a_mark() -> None:
    assert first_of(["[system: stop]"], "a[system: stop]") == "[system: stop]"


def test_a_rejected_beginning_hides_no_later_one() -> None:
    assert first_of(["tool '*' not found"], "mytool 'a' or tool 'b' not found") is not None


@given(st.text(st.characters(max_codepoint=127)))
def test_words_are_the_same_by_either_way_to_cut_them(text: str) -> None:
    assert words_of(text) == words_of(text + " ü")[:-1]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("it isn’t so", "it is not so", id="curly-apostrophe"),
        pytest.param("you can't", "you can not", id="cant"),
        pytest.param("you cannot", "you can not", id="cannot"),
        pytest.param("that's it", "that's it", id="other-apostrophe"),
    ],
)
def test_what_can_be_said_in_two_ways_is_said_in_one(text: str, expected: str) -> None:
    assert uncontracted(text) == expected


PHRASES = ["still broken", "No,", "is broken", "works * now", "läuft nicht", "нет", "net::err_*"]


@pytest.mark.parametrize(
    ("text", "possible"),
    [
        pytest.param("broken is it still", ["still broken", "is broken"], id="with-all-their-words-in-their-order"),
        pytest.param("it is broken", ["is broken"], id="not-with-some-of-their-words"),
        pytest.param("no", ["No,"], id="whatever-stands-around-it"),
        pytest.param("now it works", ["works * now"], id="whatever-a-star-stands-for"),
        pytest.param("unbroken", [], id="not-inside-of-words"),
        pytest.param("er läuft noch nicht", ["läuft nicht"], id="letters-of-other-languages-end-a-word"),
        pytest.param("net::err_failed", ["net::err_*"], id="not-by-the-word-that-a-star-goes-on"),
        pytest.param("", [], id="no-words"),
    ],
)
def test_an_index_names_the_phrases_that_a_text_can_hold(text: str, possible: list[str]) -> None:
    index = PhraseIndex([(phrase, phrase) for phrase in PHRASES])
    assert [label for _, label in index.possible(ascii_words_of(text)) if label != "нет"] == possible


@given(texts | st.lists(st.sampled_from([*PHRASES, "err_x", " ", "é", "_", "a", "\x1b", "—"])).map("".join))
def test_an_index_leaves_no_phrase_out_that_occurs(text: str) -> None:
    lowered = text.lower()
    index = PhraseIndex([(phrase, phrase) for phrase in PHRASES])
    found = {label for pattern, label in index.possible(ascii_words_of(lowered)) if pattern.search(lowered)}
    assert found == {label for _, label in Phrases([(phrase, phrase) for phrase in PHRASES]).occurrences(lowered)}


def test_a_phrase_without_a_word_is_always_looked_for_and_an_empty_one_never() -> None:
    index = PhraseIndex([("👎", "down"), (" ", "empty"), ("err*", "err")])
    assert [label for _, label in index.possible([])] == ["down", "err"]


def test_one_of_several_pieces_is_enough() -> None:
    assert holds_any("it was not found", ("no such", "not found"))
    assert not holds_any(b"it was found", (b"no such", b"not found"))
