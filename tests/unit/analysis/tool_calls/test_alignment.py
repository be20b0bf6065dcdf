"""Alignment: every step is in it once, in order, and as many as possible are equal."""

from __future__ import annotations

from itertools import combinations, pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grader_daemon.analysis.tool_calls import CallView
from grader_daemon.analysis.tool_calls.alignment import aligned, sameness

STEPS = st.text("abc", max_size=7)


def told(left: str, right: str) -> list[tuple[str, str, bool]]:
    return [
        ("".join(left[i] for i in each.left), "".join(right[j] for j in each.right), each.is_equal)
        for each in aligned(left, right)
    ]


@pytest.mark.parametrize(
    ("left", "right", "expected"),
    [
        pytest.param("", "", [], id="nothing"),
        pytest.param("abc", "abc", [("abc", "abc", True)], id="all-equal"),
        pytest.param("ab", "cd", [("ab", "cd", False)], id="nothing-equal"),
        pytest.param("ab", "", [("ab", "", False)], id="one-side-alone"),
        pytest.param("abxd", "abyd", [("ab", "ab", True), ("x", "y", False), ("d", "d", True)], id="one-replaced"),
        pytest.param("abd", "abcd", [("ab", "ab", True), ("", "c", False), ("d", "d", True)], id="one-more"),
    ],
)
def test_equal_steps_stand_beside_each_other(left: str, right: str, expected: list[tuple[str, str, bool]]) -> None:
    assert told(left, right) == expected


@given(left=STEPS, right=STEPS)
def test_nothing_is_lost_and_stretches_take_turns(left: str, right: str) -> None:
    found = told(left, right)

    assert "".join(each[0] for each in found) == left
    assert "".join(each[1] for each in found) == right
    assert all(one == other for one, other, is_equal in found if is_equal)
    assert all(one[2] != other[2] for one, other in pairwise(found))


@given(left=STEPS, right=STEPS)
def test_no_alignment_has_more_equal_steps(left: str, right: str) -> None:
    """Compared with all parts of one that are parts of the other, the longest first."""
    parts = (part for size in range(len(left), -1, -1) for part in combinations(left, size))
    longest = next(part for part in parts if _is_part(part, right))

    assert sum(len(one) for one, _, is_equal in told(left, right) if is_equal) == len(longest)


def _is_part(part: tuple[str, ...], whole: str) -> bool:
    rest = iter(whole)
    return all(each in rest for each in part)


@pytest.mark.parametrize(
    ("one", "other", "is_same"),
    [
        pytest.param(
            CallView("Bash", {"command": "pytest  -q"}),
            CallView("terminal", {"command": "pytest -q"}),
            True,
            id="a-command-by-tools-of-two-agents",
        ),
        pytest.param(
            CallView("Read", {"file_path": "/a.py", "limit": 9}),
            CallView("Read", {"file_path": "/a.py"}),
            True,
            id="another-part-of-a-file",
        ),
        pytest.param(
            CallView("Read", {"file_path": "/a.py"}),
            CallView("Write", {"file_path": "/a.py", "content": "x"}),
            False,
            id="reading-and-writing-a-file",
        ),
        pytest.param(
            CallView("Edit", {"file_path": "/a.py", "old_string": "x", "new_string": "y"}),
            CallView("Edit", {"file_path": "/a.py", "old_string": "x", "new_string": "z"}),
            False,
            id="two-changes-of-a-file",
        ),
        pytest.param(CallView("Grep", {"pattern": "x"}), CallView("Grep", {"pattern": "y"}), False, id="other-words"),
    ],
)
def test_calls_that_do_the_same_are_the_same(one: CallView, other: CallView, is_same: bool) -> None:
    assert (sameness(one) == sameness(other)) is is_same
