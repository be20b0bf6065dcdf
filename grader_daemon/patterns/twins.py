"""Twins: a session before a change and one since it, as near to each other as there are, however they ended."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from itertools import product
from typing import NamedTuple

from grader_daemon.domain.grade import Grade
from grader_daemon.domain.wording import NEAR, likeness


class Nearness(StrEnum):
    """Nearness of two sessions of one task type, the nearest first."""

    SAME_REQUEST = "same_request"
    LIKE_REQUEST = "like_request"
    SAME_PROJECT = "same_project"
    SAME_TYPE = "same_type"


class Twins(NamedTuple):
    """Two sessions of one task type, and how near they are."""

    before: Grade
    since: Grade
    nearness: Nearness


def twins(before: Sequence[Grade], since: Sequence[Grade]) -> Twins | None:
    """Return the two that are nearest by their tasks, of equals those least apart in time; None without any."""
    pairs = (
        Twins(one, other, _nearness(one, other))
        for one, other in product(before, since)
        if one.task_type == other.task_type and one.session_id != other.session_id
    )
    order = list(Nearness)
    return min(pairs, key=lambda pair: (order.index(pair.nearness), _seconds_apart(pair)), default=None)


def _nearness(one: Grade, other: Grade) -> Nearness:
    if one.request is not None and one.request == other.request:
        return Nearness.SAME_REQUEST
    if one.wording is not None and other.wording is not None and likeness(one.wording, other.wording) >= NEAR:
        return Nearness.LIKE_REQUEST
    if one.project is not None and one.project == other.project:
        return Nearness.SAME_PROJECT
    return Nearness.SAME_TYPE


def _seconds_apart(pair: Twins) -> float:
    before, since = (each.ended_at or each.graded_at for each in (pair.before, pair.since))
    return (since - before).total_seconds()
