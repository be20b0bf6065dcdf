"""Tools by what they do: whether a call looks, acts, or runs a shell, by its name and by what it was given."""

from __future__ import annotations

import re
from collections.abc import Sequence
from enum import Enum, auto
from functools import lru_cache
from typing import Final, NamedTuple

from grader_daemon.analysis.claims.evidence import ToolRun
from grader_daemon.analysis.claims.tool_checks import CHECKING
from grader_daemon.analysis.tool_calls import CHANGING, HARMLESS, Purpose, tool_of
from grader_daemon.domain.late_pattern import late_pattern
from grader_daemon.domain.phrases import holds_any

_LOOKING_WORDS = """
    freebusy free busy availability available pricing prices rates history notes logs info details balance browse
    whoami preview explain stats track dupes scan buscar leer ver consultar listar lister lire chercher rechercher
    consulter suchen lesen zeigen holen abrufen schema tables inspect validate verify test extract
    """
_LOOKING: Final = frozenset(_LOOKING_WORDS.split())
_CHANGING_WORDS = """
    add set update create delete remove import append put write insert send post move merge cancel book schedule
    assign close load forward reply archive transition modify edit patch complete save publish refund suspend upsert
    supprimer ajouter modifier crear mover enviar aendern anlegen senden restart reboot
    """
FINISHING: Final = frozenset(
    {"send", "submit", "checkout", "confirm", "publish", "save", "commit", "place", "pay", "book", "apply", "finalize"}
)
_CHANGING: Final = frozenset(_CHANGING_WORDS.split()) | FINISHING
_QUERY = late_pattern(
    r'": ?"\s{0,9}(?:select|explain|show|describe)\s'
    r'|"(?:tool|action|method|operation)": ?"(?:list|get|search|find|read)',
    re.IGNORECASE,
)
_NO_SHELLS: Final = frozenset({"sql", "validation", "expectations", "audit", "verification"})
"""Words beside "run" or "execute" with which a tool runs nothing but this."""

_TRYING: Final = ('"save": false', '"save":false', '"dry_run": true', '"dry_run":true', '"publish": false')
"""Arguments of a call that could do more than look."""

_READ: Final = 400
"""Characters of the arguments that are read for this."""

_SPECIFIC: Final = frozenset(
    {"mark", "label", "tag", "flag", "reply", "comment", "share", "invite", "notify", "rename", "copy", "lock"}
    | {"unlock", "pay", "transfer", "order", "reserve", "enable", "disable", "subscribe", "unsubscribe", "hold"}
)
"""Words that tell what a tool does, where it is known to act."""


class Role(Enum):
    """Role of a tool by its name."""

    LOOKS = auto()
    ACTS = auto()
    RUNS = auto()


class Kind(NamedTuple):
    """Role of a tool, and whether it checks anything."""

    role: Role
    checks: bool


def parted(runs: Sequence[ToolRun], kinds: Sequence[Kind]) -> tuple[list[ToolRun], list[ToolRun]]:
    """Return the calls that may have changed anything, and the others.

    One that asks a database changes nothing, nor one that only looks among several tools under one name; one that was
    told not to save might have.
    """
    given = "\n".join([run.arguments[:_READ] for run in runs])
    asks, tries = _QUERY.search(given) is not None, holds_any(given, _TRYING)
    acting: list[ToolRun] = []
    others: list[ToolRun] = []
    for run, kind in zip(runs, kinds, strict=True):
        is_act = kind.role is Role.ACTS and not (asks and _QUERY.search(run.arguments, 0, _READ))
        is_act = is_act or (tries and holds_any(run.arguments[:_READ], _TRYING))
        (acting if is_act else others).append(run)
    return acting, others


@lru_cache(maxsize=1_024)
def kind_of(name: str) -> Kind:
    """Return the kind of a tool, by its name."""
    words, purpose = tool_of(name)
    if not words.isdisjoint(_CHANGING):
        role = Role.ACTS
    elif name.endswith("_log"):
        role = Role.LOOKS
    elif purpose is Purpose.RUN and words.isdisjoint(_NO_SHELLS):
        role = Role.RUNS
    else:
        role = Role.LOOKS if purpose in HARMLESS or not words.isdisjoint(_LOOKING) else Role.ACTS
    return Kind(role, not words.isdisjoint(CHECKING))


def changes(run: ToolRun) -> bool:
    """Return whether a tool is known to change something."""
    return not run.words.isdisjoint(_CHANGING) or run.purpose in CHANGING


def tells_what_it_does(run: ToolRun) -> bool:
    """Return whether the name of a tool tells what it does."""
    return changes(run) or not run.words.isdisjoint(_SPECIFIC)
