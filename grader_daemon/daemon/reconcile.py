"""What is missing? Pure: compares the units on disk with what the ledger remembers of them.

This is what makes everything else replaceable: after a crash, an overflow of the kernel's event queue, a suspend or a
full queue, the difference between disk and ledger is the work that is left.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator

from grader_daemon.domain.unit import Found, Stamp, Unit


def plan(found: Iterable[Found], remembered: Callable[[Unit], Stamp | None], again: Container[Unit]) -> Iterator[Found]:
    """Yield the units that the ledger does not know, or knows with another stamp, or that are to be read again.

    Args:
        found: units on disk.
        remembered: gives the stamp that the ledger has for a unit.
        again: units for which that says nothing.
    """
    for each in found:
        if each.unit in again or remembered(each.unit) != each.stamp:
            yield each
