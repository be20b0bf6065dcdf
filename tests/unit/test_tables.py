from __future__ import annotations

import inspect

import pytest

from tests.tables import for_each


def test_every_case_is_tried_and_each_that_fails_is_named() -> None:
    tried = []

    @for_each("number, limit", [(1, 2), pytest.param(3, 2, id="too-large"), (2, 2), ("x", 2)])
    def is_in_bounds(number: int, limit: int) -> None:
        tried.append(number)
        assert number <= limit

    with pytest.raises(AssertionError) as caught:
        is_in_bounds()

    assert tried == [1, 3, 2, "x"]
    first, *others = str(caught.value).splitlines()
    assert first == "2 of 4 cases fail"
    assert [line.partition(": ")[0] for line in others if ": " in line] == ["too-large", "'x'-2"]


def test_cases_can_be_made_when_the_test_runs_and_have_names() -> None:
    @for_each(("word",), lambda: ["a", "b"], ids=str.upper)
    def is_short(word: str) -> None:
        pytest.fail(word)

    with pytest.raises(AssertionError, match=r"^2 of 2 cases fail\nA: Failed: a\nB: Failed: b$"):
        is_short()


def test_what_is_no_column_is_a_fixture() -> None:
    @for_each("word", ["a"])
    def is_like(word: str, other: str) -> None:
        assert word == other

    assert list(inspect.signature(is_like).parameters) == ["other"]
    is_like(other="a")


def test_of_many_that_fail_the_first_are_named() -> None:
    @for_each("number", range(300))
    def fails(number: int) -> None:
        raise ValueError(number)

    with pytest.raises(AssertionError) as caught:
        fails()

    assert str(caught.value).splitlines()[0::200] == ["300 of 300 cases fail", "199: ValueError: 199"]
    assert str(caught.value).endswith("\nand 100 more")


def test_a_table_without_cases_is_skipped() -> None:
    @for_each("number", [])
    def shows_nothing(number: int) -> None:
        raise AssertionError(number)

    with pytest.raises(pytest.skip.Exception, match="empty parameter set"):
        shows_nothing()


def test_a_column_that_a_test_does_not_take_is_refused() -> None:
    with pytest.raises(AssertionError, match="does not take all of number"):

        @for_each("number", [1])
        def takes_another(word: str) -> None: ...
