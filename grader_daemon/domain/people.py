"""What people let an agent know about its work, inside a session."""

from __future__ import annotations

from enum import StrEnum
from typing import Final

import msgspec


class SignalKind(StrEnum):
    """What a person's message says of the work before it; undone: the person took some of it back."""

    CORRECTION = "correction"
    COMPLAINT = "complaint"
    THANKS = "thanks"
    ACCEPTANCE = "acceptance"
    REPEATED = "repeated"
    GAVE_UP = "gave_up"
    UNDONE = "undone"


MOST_SIGNALS: Final = 100
"""So many signals of a session are kept: the last."""

OBJECTING: Final = frozenset((SignalKind.CORRECTION, SignalKind.COMPLAINT, SignalKind.GAVE_UP, SignalKind.UNDONE))
ACCEPTING: Final = frozenset((SignalKind.THANKS, SignalKind.ACCEPTANCE))


class PersonSignal(msgspec.Struct, frozen=True, gc=False):
    """One such message; `index` is its position in `Session.messages`, for what was undone that of what came next."""

    kind: SignalKind
    index: int
