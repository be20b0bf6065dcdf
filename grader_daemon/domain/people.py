"""What people let an agent know about its work, inside a session."""

from __future__ import annotations

from enum import StrEnum

import msgspec


class SignalKind(StrEnum):
    """What a person's message says of the work before it."""

    CORRECTION = "correction"
    COMPLAINT = "complaint"
    THANKS = "thanks"
    ACCEPTANCE = "acceptance"
    REPEATED = "repeated"
    GAVE_UP = "gave_up"


class PersonSignal(msgspec.Struct, frozen=True, gc=False):
    """One such message; `index` is its position in `Session.messages`."""

    kind: SignalKind
    index: int
