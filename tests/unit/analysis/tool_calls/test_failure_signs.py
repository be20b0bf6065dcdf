from __future__ import annotations

import pytest

from grader_daemon.analysis.tool_calls import failure_signs
from grader_daemon.analysis.tool_calls.failure_signs import FailureSigns
from grader_daemon.domain.analysis import Category, Subcategory
from grader_daemon.domain.phrases import ascii_words_of
from grader_daemon.domain.rules import Rules


@pytest.mark.parametrize(
    ("text", "code", "category"),
    [
        pytest.param("mkdir: Permission denied", 124, Category.PERMISSION_DENIED, id="its-words-come-first"),
        pytest.param("oops", 124, Category.TIMEOUT, id="then-its-exit-code"),
        pytest.param("oops", 0, Category.UNKNOWN, id="and-nothing-says-nothing"),
        pytest.param("The user rejected this", 1, None, id="a-refusal-is-no-failure"),
    ],
)
def test_a_failure_has_a_category(rules: Rules, text: str, code: int, category: Category | None) -> None:
    assert FailureSigns(rules.failures).category(text, code) is category


def test_a_text_is_cut_into_words_once_however_often_it_is_met(rules: Rules, monkeypatch: pytest.MonkeyPatch) -> None:
    texts: list[str] = []

    def spy(text: str) -> list[bytes]:
        texts.append(text)
        return ascii_words_of(text)

    monkeypatch.setattr(failure_signs, "ascii_words_of", spy)
    signs = FailureSigns(rules.failures)

    for _ in range(2):
        assert signs.category("Error: no such table: X", 1) is Category.COMMAND_FAILED
        assert signs.subcategory("Error: no such table: X") is Subcategory.QUERY_ERROR

    assert texts == ["error: no such table: x"]
