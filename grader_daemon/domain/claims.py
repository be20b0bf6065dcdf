"""Claims of an agent about its own work, and their support in the record of its tool calls."""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum
from typing import Final

import msgspec


class ClaimKind(StrEnum):
    """Kind of deed or result that is claimed."""

    FILE_WRITTEN = "file_written"
    TESTS_PASSED = "tests_passed"
    COMMAND_RAN = "command_ran"
    BUG_FIXED = "bug_fixed"
    SENT = "sent"
    COMMITTED = "committed"
    DEPLOYED = "deployed"
    INSTALLED = "installed"
    ACTION_DONE = "action_done"
    CHECK_PASSED = "check_passed"
    TESTS_ADDED = "tests_added"
    NOTHING_ELSE = "nothing_else_changed"


class Support(StrEnum):
    """Result of checking a claim against the record.

    `stale`: a check passed, but what it checks was changed after it. `partial`: the record supports one part and
    contradicts another.
    """

    VERIFIED = "verified"
    UNSUPPORTED = "unsupported"
    CONTRADICTED = "contradicted"
    STALE = "stale"
    PARTIAL = "partial"


AGAINST: Final = frozenset({Support.CONTRADICTED, Support.STALE, Support.PARTIAL})
"""Results of a check by which the record speaks against a claim."""


class ClaimReason(StrEnum):
    """Reason why the record supports or contradicts a claim."""

    NO_CALL = "no_call"
    FAILED = "failed"
    DENIED = "denied"
    OTHER_TARGET = "other_target"
    OTHER_VALUE = "other_value"
    NOT_NAMED = "not_named"
    FEWER_DONE = "fewer_done"
    NOT_PERSISTED = "not_persisted"
    STALE = "stale"
    TESTS_FAILED = "tests_failed"
    TESTS_REMOVED = "tests_removed"
    TESTS_SKIPPED = "tests_skipped"
    EXPECTED_REWRITTEN = "expected_rewritten"
    EMPTY_RUN = "empty_run"
    MASKED = "masked"
    WEAKER_RUN = "weaker_run"
    READ_BACK = "read_back"
    NOT_SEEN = "not_seen"
    BROKE_OFF = "broke_off"
    CHECK_FAILED = "check_failed"
    EDIT_FAILED = "edit_failed"
    TAKEN_BACK = "taken_back"
    OTHERS_CHANGED = "others_changed"


class Claim(msgspec.Struct, frozen=True, gc=False):
    """One claim of a final answer.

    `subject` is its object (a file, an address), None if it names none, and `words` is the text of its sentence or
    item; both redacted. `index` is the message with the claim, `evidence` the messages that support or contradict it,
    both positions in `Session.messages`; `reason` says why it has this support, if known.
    """

    kind: ClaimKind
    support: Support
    subject: str | None
    index: int
    evidence: tuple[int, ...] = ()
    reason: ClaimReason | None = None
    words: str | None = None


CLAIM_SUMS: Final = ("sessions", *(support.value for support in Support), "against")
"""Sums over sessions with a claim of one kind: all, those with each result of the check, those with one in `AGAINST`.
"""


def claim_sums(claims: Iterable[Claim]) -> dict[ClaimKind, list[int]]:
    """Return what one session adds to `CLAIM_SUMS`, by the kind of its claims."""
    supports: dict[ClaimKind, set[Support]] = {}
    for claim in claims:
        supports.setdefault(claim.kind, set()).add(claim.support)
    return {
        kind: [1, *(int(support in found) for support in Support), int(not AGAINST.isdisjoint(found))]
        for kind, found in supports.items()
    }


class ClaimTally(msgspec.Struct, frozen=True, kw_only=True):
    """Claims of one kind in people's tasks that finished in a span, compared with the record.

    Attributes:
        sessions: number of sessions with such a claim.
        supports: number of sessions with such a claim, by the result of the check; a session may have several results.
        against: number of sessions with a contradicted, stale or partial claim, by model, most first.
    """

    kind: ClaimKind
    sessions: int
    supports: dict[Support, int]
    against: dict[str, int]
