"""Alignment of the steps of two sessions: which are the same, and which is the first that is not.

It takes the longest sequence of steps that both have in this order, as diff(1) does.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from grader_daemon.analysis.tool_calls.call_view import CallView
from grader_daemon.analysis.tool_calls.tools import Purpose


class Stretch(NamedTuple):
    """Steps of two sessions, by their places; equal ones are as many on both sides."""

    left: range
    right: range
    is_equal: bool


def sameness(call: CallView) -> str:
    """Return what two calls have in common that do the same: the purpose, and the command, or the file that is read.

    Of any other call it is all that it is given: two changes of a file may differ.
    """
    read = call.path if call.effect is Purpose.READ else None
    what = call.shell or read or call.text
    return f"{call.effect} {' '.join(what.split())}"


def aligned(left: Sequence[str], right: Sequence[str]) -> tuple[Stretch, ...]:
    """Return the stretches of two sequences, in order; it takes time with the product of their lengths."""
    common = _common(left, right)
    found: list[Stretch] = []
    i = j = 0
    while i < len(left) or j < len(right):
        begin = i, j
        while _are_equal(left, right, i, j):
            i, j = i + 1, j + 1
        if i > begin[0]:
            found.append(Stretch(range(begin[0], i), range(begin[1], j), is_equal=True))
        begin = i, j
        while (i < len(left) or j < len(right)) and not _are_equal(left, right, i, j):
            goes_left = j == len(right) or (i < len(left) and common[i + 1][j] >= common[i][j + 1])
            i, j = (i + 1, j) if goes_left else (i, j + 1)
        if (i, j) != begin:
            found.append(Stretch(range(begin[0], i), range(begin[1], j), is_equal=False))
    return tuple(found)


def _are_equal(left: Sequence[str], right: Sequence[str], i: int, j: int) -> bool:
    return i < len(left) and j < len(right) and left[i] == right[j]


def _common(left: Sequence[str], right: Sequence[str]) -> list[list[int]]:
    """Return how many steps the rests of both have in common, from each pair of places on."""
    common = [[0] * (len(right) + 1) for _ in range(len(left) + 1)]
    for i in range(len(left) - 1, -1, -1):
        for j in range(len(right) - 1, -1, -1):
            same = left[i] == right[j]
            common[i][j] = common[i + 1][j + 1] + 1 if same else max(common[i + 1][j], common[i][j + 1])
    return common
