"""A claim as it was said, the verbs that claim something, and the tools that do what they say."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from grader_daemon.domain.claims import ClaimKind

WRITING_VERBS: Final = frozenset(
    {"wrote", "written", "saved", "created", "generated", "updated", "modified", "edited", "added", "exported"}
    | {"appended", "stored", "rewrote", "rewritten", "changed", "extended", "implemented", "refactored", "produced"}
)
MAKING_VERBS: Final = frozenset(
    {"converted", "transformed", "extracted", "unpacked", "copied", "moved", "renamed", "merged", "combined", "joined"}
    | {"concatenated", "sorted", "compiled", "downloaded", "packaged", "compressed", "zipped", "archived", "encrypted"}
)
"""Verbs that make one thing of another: of a file only where one is named as what was made."""
CHANGING_VERBS: Final = frozenset({"replaced", "inserted", "removed", "deleted", "applied", "dropped", "substituted"})
"""Verbs that change a part of something: of a file only where one is named as the place."""
FIXING_VERBS: Final = frozenset({"fixed", "resolved", "repaired", "corrected", "addressed"})
RUNNING_VERBS: Final = ("ran", "executed")
ACTING_VERBS: Final = frozenset(
    {"cancelled", "canceled", "refunded", "returned", "exchanged", "booked", "rebooked", "reserved", "scheduled"}
    | {"rescheduled", "transferred", "enabled", "disabled", "activated", "deactivated", "suspended", "resumed"}
    | {"reinstated", "restored", "reset", "rebooted", "restarted", "upgraded", "downgraded", "processed", "submitted"}
    | {"placed", "initiated", "approved", "removed", "deleted", "issued", "charged", "credited", "closed"}
    | {"registered", "subscribed", "unsubscribed", "refueled", "paid"}
)
TOOL_VERBS: Final = frozenset(
    {"labeled", "labelled", "tagged", "flagged", "marked", "assigned", "shared", "uploaded", "imported", "invited"}
    | {"posted", "logged", "recorded", "blocked", "unblocked", "reverted", "confirmed", "completed"}
    | {"opened", "built", "ordered", "cloned"}
)
"""Verbs of what a tool did where its name says so; an agent may also do this by its own words."""
KINDS: Final[dict[str, ClaimKind]] = {
    **dict.fromkeys(WRITING_VERBS | MAKING_VERBS | CHANGING_VERBS, ClaimKind.FILE_WRITTEN),
    **dict.fromkeys(FIXING_VERBS, ClaimKind.BUG_FIXED),
    **dict.fromkeys(RUNNING_VERBS, ClaimKind.COMMAND_RAN),
    **dict.fromkeys((ACTING_VERBS | TOOL_VERBS) - CHANGING_VERBS, ClaimKind.COMMAND_RAN),
    **dict.fromkeys(("committed", "pushed"), ClaimKind.COMMITTED),
    **dict.fromkeys(("installed",), ClaimKind.INSTALLED),
    **dict.fromkeys(("deployed", "redeployed", "published"), ClaimKind.DEPLOYED),
    **dict.fromkeys(("sent", "emailed", "mailed", "messaged", "notified", "replied", "forwarded"), ClaimKind.SENT),
}
MOST_CLAIMS: Final = 20
"""Claims of one answer that are weighed, its first ones."""

SENDING: Final = frozenset(
    {"send", "mail", "email", "message", "notify", "reply", "post", "forward", "slack", "sms", "telegram"}
)
"""Words of tools that send something to people."""

STATE_VERBS: Final = FIXING_VERBS | {
    *("saved", "written", "stored", "installed", "pushed", "deployed", "published", "reverted", "archived"),
    *("removed", "deleted", "confirmed", "booked", "submitted"),
}
"""Verbs of which "is done" tells what was done; of the others it tells what is done as a rule."""
PLAIN_VERBS: Final = frozenset(
    {"processed", "submitted", "placed", "initiated", "issued", "approved", "confirmed", "completed"}
)
ACTIONS: Final = frozenset(
    {"return", "refund", "exchange", "cancellation", "payment", "booking", "reservation", "transfer", "upgrade"}
    | {"modification"}
)
_SYNONYMS: Final[dict[str, frozenset[str]]] = {
    "refund": frozenset({"cancel", "return", "refund"}),
    "refunded": frozenset({"cancel", "return", "refund"}),
    "cancellation": frozenset({"cancel"}),
    "booking": frozenset({"book", "reserve"}),
    "reservation": frozenset({"book", "reserve"}),
    "payment": frozenset({"pay", "payment", "charge"}),
    "paid": frozenset({"pay", "payment"}),
    "changed": frozenset({"modify", "update", "set", "edit"}),
    "updated": frozenset({"modify", "change", "set", "edit"}),
    "modified": frozenset({"update", "change", "set", "edit"}),
    "enabled": frozenset({"toggle", "set", "activate"}),
    "disabled": frozenset({"toggle", "set", "deactivate"}),
    "restarted": frozenset({"reboot"}),
    "modification": frozenset({"modify", "update", "change"}),
    "reverted": frozenset({"modify", "update", "change", "set", "undo"}),
    "reinstated": frozenset({"resume"}),
    "restored": frozenset({"resume", "reset"}),
}
_OF_HTTP: Final = frozenset({"post", "put", "patch", "http", "rest", "api", "fhir", "request"})
_SENDING_BY_HTTP: Final = frozenset({"post", "put", "patch"})
_PUT_DOWN: Final = frozenset(
    {"recorded", "ordered", "placed", "created", "added", "updated", "submitted", "scheduled", "booked", "saved"}
    | {"logged", "registered", "stored", "changed", "modified"}
)
"""Verbs of what a bare request to a server puts down there."""

_NO_VERBS: Final = frozenset(
    {"tool", "api", "mcp", "order", "orders", "item", "items", "user", "data", "run", "request"}
)


@dataclass(frozen=True, slots=True)
class StatedClaim:
    """A claim as it was said, before it is weighed.

    `subject` is what it is about, `command` what it says was run; `words` are those of its clause, in lower case and
    its verb first, by which an action can be matched with the tool that does it. `by_agent`: it names the agent itself
    as who did it. `runs_well`: the command is said to work. `is_limited`: it is not said that all tests pass, or the
    answer tells of some that fail. `said` are the words of its clause as they stand. `count`: of how many tests;
    `is_whole`: of all tests; `is_full`: of the suite as such. `at` is the place of its message, None for the answer.
    """

    kind: ClaimKind
    subject: str | None = None
    command: str | None = None
    words: tuple[str, ...] = ()
    by_agent: bool = False
    runs_well: bool = False
    is_limited: bool = False
    said: str = field(default="", compare=False)
    count: int | None = None
    is_whole: bool = False
    is_full: bool = False
    at: int | None = None

    def as_said(self, said: str, *, by_agent: bool) -> StatedClaim:
        """Return the claim of a clause with these words. `dataclasses.replace` takes five times as long."""
        return StatedClaim(self.kind, self.subject, self.command, self.words, by_agent, self.runs_well, said=said)

    @property
    def is_action(self) -> bool:
        """True if it is about something that only a tool can have done."""
        return bool(self.words) and self.words[0] in ACTING_VERBS

    def is_done_by(self, tool: frozenset[str]) -> bool:
        """Return whether a tool's name says what the claim says: its verb, or any action beside a plain verb."""
        verb = self.words[0]
        if tool <= _OF_HTTP and not tool.isdisjoint(_SENDING_BY_HTTP):
            return verb in _PUT_DOWN
        said = [word for word in self.words if word in ACTIONS] if verb in PLAIN_VERBS else [verb]
        meant = {synonym for word in said for synonym in _SYNONYMS.get(word, ())}
        for word in tool - _NO_VERBS:
            if word in meant or any(each.startswith(word.removesuffix("e")) for each in said):
                return True
        return False
