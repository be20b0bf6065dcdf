from __future__ import annotations

import pytest

from grader_daemon.sources.codex.script_tokens import closings_of, tokens_of, unescaped
from tests.timing import is_done_within


@pytest.mark.parametrize(
    ("code", "kinds"),
    [
        pytest.param("// tools.a()\n/* tools.b() */ 'c()'", ["string"], id="comments-are-left-out"),
        pytest.param("a = -1_000.5;", ["name", "sign", "number", "sign"], id="numbers"),
        pytest.param("a / 2", ["name", "sign", "number"], id="a-slash-that-divides"),
        pytest.param("/['\"]/.test", ["pattern", "sign", "name"], id="a-pattern-at-the-beginning"),
        pytest.param('x => /[/"]/g', ["name", "sign", "sign", "pattern"], id="a-pattern-behind-an-arrow"),
        pytest.param("return /'/;", ["name", "pattern", "sign"], id="a-pattern-that-is-returned"),
        pytest.param('`a ${b.map(c => `${c} \'`)["`"]} \\` $`.d', ["template", "sign", "name"], id="nested-templates"),
        pytest.param("`${ {a: {}} }`", ["template"], id="braces-in-a-template"),
    ],
)
def test_code_is_taken_into_pieces(code: str, kinds: list[str]) -> None:
    assert [token.kind for token in tokens_of(code) or ()] == kinds


@pytest.mark.parametrize(
    "code", ["'", '"a\n"', "`a", "`${a", "`${'}`", "/* a", "x = /a", "/[a\n/", "`${" * 50 + "}`" * 50]
)
def test_what_has_no_end_is_not_understood(code: str) -> None:
    assert tokens_of(code) is None


def test_too_many_pieces_are_not_understood() -> None:
    assert tokens_of("a;" * 50_000) is None


def test_brackets_are_closed_by_their_own_kind() -> None:
    assert closings_of(tokens_of("([a)]) {") or []) == {1: 4, 0: 5}


@pytest.mark.parametrize("code", ["`${", "{", "/*", "/[a", "=/[", "= /a", '"\\', "`", "`${`", "'\\n", '`${"\\'])
def test_hostile_code_takes_bounded_time(code: str) -> None:
    assert is_done_within(1.0, lambda: tokens_of(code * (500_000 // len(code))))


@pytest.mark.parametrize(
    ("written", "text"),
    [
        ("plain", "plain"),
        (r"a\n\t\\\'\"\q", "a\n\t\\'\"q"),
        (r"\x41\u00e9\u{1F600}\U0001f600", "A\u00e9\U0001f600\U0001f600"),
        (r"\ud83d\ude00 \ud83d", "\U0001f600 \ufffd"),
        (r"\u{ffffff}", r"\u{ffffff}"),
        ("a\\\nb", "ab"),
    ],
)
def test_escapes_are_what_they_stand_for(written: str, text: str) -> None:
    assert unescaped(written) == text
