"""The unit of grading, and where it lies: one session of one source, whatever the source keeps its sessions in."""

from __future__ import annotations

from datetime import UTC, datetime

import msgspec

Stamp = bytes
"""A source's mark for the content of a unit, made without reading it: it differs if the content does. Only the source
can interpret it; all others compare and keep it.
"""

NOWHERE: Stamp = b""
"""The stamp of a unit that cannot be looked at."""


FIRST_SOURCE = "hermes"
"""The source of all that was kept before there were others, and of the rows of the original program."""


class Unit(msgspec.Struct, frozen=True, gc=False, order=True):
    """Identity of one session on disk, under which the ledger of files knows it.

    Attributes:
        source: name of the source, such as "hermes".
        locator: path of the file that holds it; the first one if a session spans several.
        key: which session of the file; "" if the file holds one.
    """

    source: str
    locator: str
    key: str = ""

    def storable(self) -> Unit:
        """Return the unit as the ledger keeps it; itself unless its name is not UTF-8."""
        if self.locator.isascii() and self.key.isascii():
            return self
        return Unit(self.source, shown_path(self.locator), shown_path(self.key))

    def __str__(self) -> str:
        """Return it as people read it: the file, and which of the sessions in it."""
        return f"{self.locator}#{self.key}" if self.key else self.locator


class Found(msgspec.Struct, frozen=True, gc=False):
    """A unit as found on disk. `written_ns` is its last write in nanoseconds since 1970, within 64 bits."""

    unit: Unit
    stamp: Stamp
    written_ns: int

    @property
    def written_at(self) -> datetime:
        """Time of the last write, as aware UTC."""
        return datetime.fromtimestamp(self.written_ns / 1e9, UTC)


def shown_path(path: str) -> str:
    """Return a path as it is kept and shown: bytes that are not UTF-8 stand as hexadecimal escapes."""
    return path if path.isascii() else path.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
