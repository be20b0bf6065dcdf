"""Signals of people to an agent about its work, inside a session."""

from __future__ import annotations

from enum import StrEnum
from typing import Final

import msgspec


class SignalKind(StrEnum):
    """Meaning of a person's message for the work before it; `undone`: the person reverted some of that work."""

    CORRECTION = "correction"
    COMPLAINT = "complaint"
    THANKS = "thanks"
    ACCEPTANCE = "acceptance"
    REPEATED = "repeated"
    GAVE_UP = "gave_up"
    UNDONE = "undone"


MOST_SIGNALS: Final = 100
"""Most signals of a session that are kept: the last ones."""

OBJECTING: Final = frozenset((SignalKind.CORRECTION, SignalKind.COMPLAINT, SignalKind.GAVE_UP, SignalKind.UNDONE))
ACCEPTING: Final = frozenset((SignalKind.THANKS, SignalKind.ACCEPTANCE))


class PersonSignal(msgspec.Struct, frozen=True, gc=False):
    """A person's message that judges the agent's work.

    `index` is its position in `Session.messages`; for work that was undone, the position of the message after it.
    """

    kind: SignalKind
    index: int
