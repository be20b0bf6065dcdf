"""The line of filters: what it asks for, what of it is not understood, and that it says what an address says."""

from __future__ import annotations

import re
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grader_daemon.api.filter_line import read_line, words, write_line
from grader_daemon.api.session_filter import ADDRESSED, Filter
from grader_daemon.domain.rollup import Dimension
from grader_daemon.errors import InputError

_KNOWN = {
    Dimension.AGENT: ["claude-code"],
    Dimension.MODEL: ["claude-opus-4", "claude-opus-4-5", "haiku"],
    Dimension.PROJECT: ["/home/you/shop", "/home/you/shop-old", "/home/you/my notes"],
}


def _read(line: str) -> dict[str, str]:
    return read_line(line, lambda dimension: _KNOWN.get(dimension, []))


@pytest.mark.parametrize(
    ("line", "asked"),
    [
        pytest.param("", {}, id="nothing"),
        pytest.param("failed", {"verdict": "not_done"}, id="a-word"),
        pytest.param("Not Done", {"verdict": "not_done"}, id="two-words-for-one-value"),
        pytest.param("failed check", {"standing": "check_failed"}, id="the-longest-meaning"),
        pytest.param("failed timeout", {"verdict": "not_done", "error": "timeout"}, id="two-filters"),
        pytest.param("cut by limit", {"ending": "cut_by_limit"}, id="three-words"),
        pytest.param("contradicted", {"claim": "contradicted"}, id="the-first-of-two-filters"),
        pytest.param("result:contradicted", {"standing": "contradicted"}, id="the-other-by-its-name"),
        pytest.param("standing:checked", {"standing": "checked"}, id="a-name-of-addresses"),
        pytest.param("result:agent-says-done", {"standing": "claimed"}, id="a-value-as-a-table-shows-it"),
        pytest.param("Agent does not say", {"standing": "no_claim"}, id="four-words-of-a-table"),
        pytest.param("check passed ended", {"standing": "checked", "state": "complete"}, id="two-words-of-a-table"),
        pytest.param("verdict:failed", {"verdict": "not_done"}, id="a-word-behind-its-name"),
        pytest.param("kind:sub-agent labelled", {"kind": "sub_agent", "person": "1"}, id="dashes-and-a-flag"),
        pytest.param('"alembic upgrade" head', None, id="a-word-beside-quotes"),
        pytest.param('"alembic upgrade" "head', {"text": "alembic upgrade head"}, id="words-in-quotes"),
        pytest.param(r'"say \"yes\""', {"text": 'say "yes"'}, id="quotes-in-quotes"),
        pytest.param("agent:clau", {"agent": "claude-code"}, id="a-part-of-one-name"),
        pytest.param("model:opus", {"model": "opus"}, id="a-part-of-several-models"),
        pytest.param("model:claude-opus-4", {"model": "claude-opus-4"}, id="a-name-that-begins-another"),
        pytest.param("project:shop", {"project": "/home/you/shop"}, id="the-last-folder"),
        pytest.param('project:"my notes"', {"project": "/home/you/my notes"}, id="a-value-in-quotes"),
        pytest.param("project:/elsewhere/notes", {"project": "/elsewhere/notes"}, id="a-whole-path-stays"),
        pytest.param("model:gpt-9 days:30", {"model": "gpt-9", "days": "30"}, id="a-name-nobody-has-stays"),
        pytest.param('model:"" ""', {}, id="empty-values"),
    ],
)
def test_line_asks_for_what_it_says(line: str, asked: dict[str, str] | None) -> None:
    if asked is None:
        with pytest.raises(InputError):
            _read(line)
    else:
        assert _read(line) == asked


@pytest.mark.parametrize(
    ("line", "said"),
    [
        pytest.param("alembic", 'alembic is not a filter; write "alembic" for words of the request', id="a-word"),
        pytest.param("failled", "failled is not a filter; did you mean failed? Else write", id="a-slip"),
        pytest.param("modle:opus", "modle: not a filter; did you mean model:?", id="a-slip-in-a-name"),
        pytest.param("limit:5", "limit: not a filter; known: ", id="a-name-like-no-other"),
        pytest.param("colour:red", "colour: not a filter; known: task_type, agent, model,", id="no-name"),
        pytest.param("result:done", "result:done: no such value; known: contradicted, check-failed,", id="no-value"),
        pytest.param("result:does-not-say", "did you mean result:agent-does-not-say?", id="a-part-of-a-value"),
        pytest.param("model: opus", "model: needs a value, without a space between", id="a-space"),
        pytest.param(
            "project:sho", "project:sho is ambiguous: /home/you/shop, /home/you/shop-old; write more", id="two-names"
        ),
        pytest.param("done failed", "verdict appears twice", id="twice"),
        pytest.param('"' * 2_001, "longer than 2,000 characters", id="too-long"),
    ],
)
def test_what_is_not_understood_is_said_with_what_would_be(line: str, said: str) -> None:
    with pytest.raises(InputError, match=re.escape(said)):
        _read(line)


def _values(asked: Filter) -> st.SearchStrategy[str]:
    if asked.is_flag:
        return st.just("1")
    return st.sampled_from(asked.choices) if asked.choices else st.text(min_size=1, max_size=12).filter(str.strip)


@given(st.fixed_dictionaries({}, optional={each.name: _values(each) for each in ADDRESSED}))
def test_a_line_says_what_an_address_says(asked: dict[str, str]) -> None:
    assert read_line(write_line(asked), lambda _: []) == asked


@given(st.text(max_size=40))
def test_any_line_is_read_or_refused_with_a_line(line: str) -> None:
    with suppress(InputError):
        assert all(read_line(line, lambda _: ["a", "b"]).values())


def test_every_word_that_is_offered_is_understood() -> None:
    values = {f"{each.word}:": each.choices[0] for each in ADDRESSED if each.choices}
    for word in words():
        assert _read(f"{word}{values.get(word, '7')}" if word.endswith(":") else word)
