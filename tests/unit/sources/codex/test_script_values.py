from __future__ import annotations

import pytest

from grader_daemon.sources.codex.script_tokens import tokens_of
from grader_daemon.sources.codex.script_values import NotRead, ValueReader


def reader(code: str) -> ValueReader:
    made = ValueReader(tokens_of(code) or [])
    made.learn("dir", "a\\b", 3)
    made.learn("count", 3, 1)
    return made


@pytest.mark.parametrize(
    ("code", "value"),
    [
        pytest.param("\"a\\n\" + `b\n` + 'c'", "a\nb\nc", id="sum-of-texts"),
        pytest.param('["a", "b",].join("\\n")', "a\nb", id="joined-lines"),
        pytest.param("String.raw`a\\n`", "a\\n", id="raw"),
        pytest.param("`ls ${dir} ${e.f({})} $`", "ls a\\b ${e.f({})} $", id="template-with-a-variable"),
        pytest.param("`ls ${count} ${other}`", "ls ${count} ${other}", id="template-with-no-text"),
        pytest.param("[true, false, null, undefined, 30_000]", [True, False, None, None, 30_000], id="words"),
        pytest.param("{a: {'b': [dir]}, count, \"c\": 1}", {"a": {"b": ["a\\b"]}, "count": 3, "c": 1}, id="object"),
        pytest.param("{a: f({b: [1]}, 2), other, c: 1.5, d: 'x' + 1, ...e, g: 2}", {"g": 2}, id="made-values-left-out"),
    ],
)
def test_a_value_is_what_stands_in_the_code(code: str, value: object) -> None:
    assert reader(code).value() == value


@pytest.mark.parametrize(
    "code",
    [
        *("", "other", "f()", "(1)", "1.5", "'a' + 1", "['a' 'b']", "['a'].join(1)", "[1].join('')", "{1: 2}", "{a: 1"),
        *("{a: [1", "{a: f(", "String.raw`${a}`", "String.raw('a')", "[" * 30 + "]" * 30),
    ],
)
def test_a_value_that_the_code_makes_is_not_read(code: str) -> None:
    with pytest.raises(NotRead):
        reader(code).value()


def test_variables_that_are_used_much_are_not_read() -> None:
    made = reader("big + big")
    made.learn("big", "x" * 600_000, 600_000)

    with pytest.raises(NotRead):
        made.value()
