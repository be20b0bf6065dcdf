from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grader_daemon.scorers.framing import LEAST_CHARACTERS, question
from grader_daemon.scorers.redacted_transcript import RedactedCall, RedactedTurn

names = st.text(st.characters(exclude_categories=["Cs"]), max_size=40)
texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=200) | st.integers(1, 4000).map(lambda n: "\x00" * n)
turns = st.lists(
    st.builds(
        RedactedTurn,
        names,
        texts,
        st.none() | names,
        st.lists(st.builds(RedactedCall, names, texts), max_size=3).map(tuple),
    ),
    max_size=30,
)


def record(made: list[dict[str, str]]) -> list[dict[str, Any]]:
    """The messages of the session as the model is given them."""
    lines = made[1]["content"].split("\n")
    assert len(lines) == 5
    return list(json.loads(lines[2])["messages"])


def characters(made: list[dict[str, str]]) -> int:
    return sum(len(message["content"]) for message in made)


@given(turns, st.integers(LEAST_CHARACTERS, 3 * LEAST_CHARACTERS))
def test_any_session_fits_and_is_json(given_turns: list[RedactedTurn], most: int) -> None:
    made = question(given_turns, most_characters=most)

    assert characters(made) <= most
    kept = record(made)
    assert bool(kept) == bool(given_turns)
    assert not {"<", ">"} & set(made[1]["content"].split("\n")[2])


def test_what_fits_is_given_as_it_is() -> None:
    given_turns = [
        RedactedTurn("user", "Fix <it>"),
        RedactedTurn("assistant", calls=(RedactedCall("terminal", '{"command": "ls"}'),)),
        RedactedTurn("tool", "fine", "terminal"),
        RedactedTurn("assistant", "Fixed."),
    ]

    assert record(question(given_turns, most_characters=24_000)) == [
        {"role": "user", "text": "Fix <it>"},
        {"role": "assistant", "calls": [{"tool": "terminal", "arguments": '{"command": "ls"}'}]},
        {"role": "tool", "text": "fine", "tool": "terminal"},
        {"role": "assistant", "text": "Fixed."},
    ]


def test_of_a_long_text_both_ends_are_given() -> None:
    kept = record(question([RedactedTurn("user", "begin " + "x" * 90_000 + " end")], most_characters=12_000))

    assert kept[0]["text"].startswith("begin x")
    assert kept[0]["text"].endswith("x end")
    assert "characters left out" in kept[0]["text"]


def test_request_and_answer_keep_more_than_what_lies_between() -> None:
    long = "x" * 9000
    kept = record(
        question(
            [RedactedTurn("user", long), *[RedactedTurn("tool", long)] * 4, RedactedTurn("assistant", long)],
            most_characters=15_000,
        )
    )

    first, *between, last = (len(turn["text"]) for turn in kept)
    assert min(first, last) > 2 * max(between)


@pytest.mark.parametrize("count", [50, 100_000])
def test_of_many_messages_the_first_and_the_last_ones_are_given(count: int) -> None:
    many = [
        RedactedTurn("user", "Do it"),
        *[RedactedTurn("tool", "\x00" * 60)] * count,
        RedactedTurn("assistant", "Done."),
    ]

    kept = record(question(many, most_characters=LEAST_CHARACTERS))

    assert kept[0]["text"] == "Do it"
    assert kept[1] == {"role": "note", "text": "messages left out"}
    assert kept[-1]["text"] == "Done."
    assert 3 < len(kept) < count


@pytest.mark.parametrize("around", [0, 1])
def test_calls_without_end_are_left_out(around: int) -> None:
    calls = (RedactedCall("terminal", "x" * 100),) * 5000
    kept = record(
        question(
            [RedactedTurn("assistant", "Done.", None, calls), *[RedactedTurn("tool", "fine")] * around],
            most_characters=LEAST_CHARACTERS,
        )
    )

    assert kept[0] == {"role": "assistant", "text": "Done."}
    assert len(kept) == 1 + around
