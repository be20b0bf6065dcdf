"""Many cases of one sentence in one test: it tries all, and names those that fail.

A test of its own costs pytest some ten milliseconds, and each worker collects it again: a table of hundreds costs more
by that than by what it shows. A table of few cases, or one whose cases need files or a store of their own, stays with
`pytest.mark.parametrize`.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Final

import pytest
from _pytest.mark import ParameterSet

Test = Callable[..., None]
Cases = Iterable[Any] | Callable[[], Iterable[Any]]
_NAMED_AT_MOST: Final = 200
"""More names than these help nobody."""


def for_each(
    names: str | Sequence[str], cases: Cases, *, ids: Callable[[Any], str] | None = None
) -> Callable[[Test], Test]:
    """Try a test on each case, given as to `pytest.mark.parametrize`; a function gives them when the test runs."""
    wanted = [name.strip() for name in names.split(",")] if isinstance(names, str) else list(names)

    def decorate(test: Test) -> Test:
        @functools.wraps(test)
        def try_all(*arguments: Any, **fixtures: Any) -> None:
            made = list(_named(cases() if callable(cases) else cases, len(wanted), ids or repr))
            if not made:
                pytest.skip("empty parameter set")
            tried = functools.partial(_tried, test, *arguments, **fixtures)
            outcomes = [(name, tried(**dict(zip(wanted, values, strict=True)))) for name, values in made]
            wrong = [(name, error) for name, error in outcomes if error is not None]
            if wrong:
                raise AssertionError(_told(wrong, len(made))) from wrong[0][1]

        try_all.__signature__ = _without(wanted, inspect.signature(test))  # type: ignore[attr-defined]
        return try_all

    return decorate


def _without(names: Sequence[str], signature: inspect.Signature) -> inspect.Signature:
    """Return what remains for fixtures."""
    assert set(names) <= signature.parameters.keys(), f"the test does not take all of {', '.join(names)}"
    return signature.replace(parameters=[one for name, one in signature.parameters.items() if name not in names])


def _tried(test: Test, *arguments: Any, **named: Any) -> BaseException | None:
    try:
        test(*arguments, **named)
    except (Exception, pytest.fail.Exception) as error:  # noqa: BLE001  a case may fail in any way
        return error
    return None


def _told(wrong: Sequence[tuple[str, BaseException]], tried: int) -> str:
    lines = [f"{name}: {type(error).__name__}: {error}" for name, error in wrong[:_NAMED_AT_MOST]]
    more = [f"and {len(wrong) - _NAMED_AT_MOST} more"] if len(wrong) > _NAMED_AT_MOST else []
    return "\n".join([f"{len(wrong)} of {tried} cases fail", *lines, *more])


def _named(cases: Iterable[Any], width: int, shown: Callable[[Any], str]) -> Iterator[tuple[str, Sequence[Any]]]:
    """Return name and values of each case."""
    for case in cases:
        if isinstance(case, ParameterSet):
            assert not case.marks, "a case of a table has no marks of its own"
            name, values = case.id if isinstance(case.id, str) else None, case.values
        else:
            name, values = None, (case,) if width == 1 else case
        yield name or "-".join(f"{shown(value):.60}" for value in values), values
