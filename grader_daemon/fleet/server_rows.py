"""Rows of hosts and members as what they say; kinds of things that only another version knows are unknown.

The server bounds each value; what stands inside of JSON, it does not look at.
"""

from __future__ import annotations

from typing import Any, Final, TypeVar

import msgspec

from grader_daemon.domain.analysis import Category, ErrorSign, Subcategory
from grader_daemon.domain.claims import Claim
from grader_daemon.domain.feedback import FleetLabel
from grader_daemon.domain.grade import Grade
from grader_daemon.domain.identity import Identity
from grader_daemon.domain.installed import SkillUse
from grader_daemon.domain.people import PersonSignal

_CATEGORIES: Final = frozenset(Category)
_SUBCATEGORIES: Final = frozenset({None, *Subcategory})
_LISTS: Final = {"claims": Claim, "signals_from_people": PersonSignal, "skills": SkillUse}
"""What is left out of a grade where another version knows more kinds of it."""
_NOT_OURS: Final = (msgspec.MsgspecError, TypeError, KeyError, AttributeError, ValueError, RecursionError)
_decode_grade: Final = msgspec.json.Decoder(Grade).decode
_decode_sign: Final = msgspec.json.Decoder(ErrorSign).decode
_decode_label: Final = msgspec.json.Decoder(FleetLabel).decode

_Read = TypeVar("_Read")


def read_grade(row: str) -> Grade | None:
    """Return a grade of its columns as JSON; None where this version cannot read it."""
    try:
        return _decode_grade(row)
    except _NOT_OURS:
        return _converted(row, Grade)


def read_sign(row: str) -> ErrorSign | None:
    """Return what an error looks like of its columns as JSON; None where this version cannot read it."""
    try:
        return _decode_sign(row)
    except _NOT_OURS:
        return _converted(row, ErrorSign)


def read_label(row: str) -> FleetLabel | None:
    """Return what a person said of its columns as JSON; None where this version cannot read it."""
    try:
        return _decode_label(row)
    except _NOT_OURS:
        return None


def identity_of(grade: Grade) -> Identity:
    """Return what there is of the identity of a session, which its host has settled."""
    return Identity(
        session_id=grade.session_id,
        unit=grade.unit,
        written_ns=0,
        state=grade.state,
        messages=0,
        started_at=grade.session_start,
        updated_at=grade.ended_at,
        lineage=None,
        opening=None,
        conversation=None,
        compacted=False,
        named_after_id=False,
        kind=grade.kind,
    )


def _converted(row: str, kind: type[_Read]) -> _Read | None:
    """Return what a row says without kinds of things that this version does not know."""
    try:
        tree = msgspec.json.decode(row)
        for failure in tree.get("failures", [tree]):  # an error itself has a category, too
            _know(failure)
        for name, each in _LISTS.items():
            if isinstance(tree.get(name), list):
                tree[name] = [found for found in tree[name] if _is(found, each)]
        return msgspec.convert(tree, kind)
    except _NOT_OURS:
        return None


def _know(failure: dict[str, Any]) -> None:
    if isinstance(failure["category"], str) and failure["category"] not in _CATEGORIES:
        failure["category"] = Category.UNKNOWN.value
    if failure.get("subcategory") not in _SUBCATEGORIES:
        failure["subcategory"] = None


def _is(found: object, kind: type[object]) -> bool:
    try:
        msgspec.convert(found, kind)
    except msgspec.MsgspecError:
        return False
    return True
