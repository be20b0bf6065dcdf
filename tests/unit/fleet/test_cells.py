"""What a column of PostgreSQL is given of a value."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grader_daemon.fleet.push_job import _cell

TEXTS = st.text(st.sampled_from('\0\\u0a"é'))
LISTS = st.recursive(
    st.lists(TEXTS), lambda inner: st.lists(inner | TEXTS) | st.dictionaries(st.sampled_from("ab"), inner)
)


@pytest.mark.parametrize(
    ("value", "cell"),
    [
        pytest.param(None, None, id="unknown"),
        pytest.param(False, False, id="no"),
        pytest.param(1.5, 1.5, id="number"),
        pytest.param("a\0b\0", "ab", id="text-with-nul"),
        pytest.param("a" * 9_999, "a" * 2_000, id="long-text"),
        pytest.param(-1, 0, id="below-zero"),
        pytest.param(2**70, 10**12, id="too-many"),
        pytest.param(float("nan"), None, id="no-number"),
        pytest.param(-0.5, None, id="no-measure"),
        pytest.param(datetime(1, 1, 1, tzinfo=UTC), None, id="before-all-sessions"),
        pytest.param(["a" * 99] * 20_000, json.dumps(["a" * 99] * 10_000, separators=(",", ":")), id="long-list"),
        pytest.param(["a"], '["a"]', id="list"),
        pytest.param(({"a": "\0"},), '[{"a":""}]', id="nul-within"),
        pytest.param(["\\u0000"], '["\\\\u0000"]', id="what-looks-like-nul"),
        pytest.param(["\\\0"], '["\\\\"]', id="nul-behind-a-backslash"),
    ],
)
def test_values_are_given_as_columns_hold_them(value: Any, cell: Any) -> None:
    assert _cell(value) == cell


@given(LISTS)
def test_json_is_the_same_but_for_nul(value: Any) -> None:
    assert json.loads(_cell(value)) == _without_nul(value)


def _without_nul(value: Any) -> Any:
    if isinstance(value, str):
        return value.replace("\0", "")
    if isinstance(value, dict):
        return {name: _without_nul(each) for name, each in value.items()}
    return [_without_nul(each) for each in value]
