"""Results of handing things over to other programs, batch by batch."""

from __future__ import annotations

import msgspec


class PassedOver(msgspec.Struct, frozen=True, kw_only=True):
    """Scores that a receiver will never take: the number of `sessions`, as far as it says, and why, in `lines`."""

    sessions: int = 0
    lines: tuple[str, ...] = ()


class Exported(msgspec.Struct, frozen=True, kw_only=True):
    """Result of an export: `sessions` that the other side took whole, and in `passed_over` what it did not take.

    `more` says whether there was anything in the feed: then there may be more.
    """

    sessions: int = 0
    passed_over: PassedOver = PassedOver()
    more: bool = False
