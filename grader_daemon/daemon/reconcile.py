"""Find what is missing. Pure: compares the units on disk with what the ledger remembers of them.

This is what makes everything else replaceable: after a crash, an overflow of the kernel's event queue, a suspend or a
full queue, the difference between disk and ledger is the work that is left.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Sequence

from grader_daemon.domain.unit import Found, Stamp, Unit

Remembered = Callable[[Sequence[Unit]], Sequence[Stamp | None]]
"""Gives the stamps that the ledger has for units; None for one that it does not know."""


def plan(found: Sequence[Found], remembered: Remembered, again: Container[Unit]) -> list[Found]:
    """Return the units that the ledger does not know, or knows with another stamp, or that are to be read again.

    Args:
        found: units on disk.
        remembered: gives the stamps that the ledger has for units.
        again: units for which that says nothing.
    """
    known = remembered([each.unit for each in found])
    return [each for each, stamp in zip(found, known, strict=True) if stamp != each.stamp or each.unit in again]
