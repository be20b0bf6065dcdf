"""What is missing? Pure: compares the files on disk with what the ledger remembers of them.

This is what makes everything else replaceable: after a crash, an overflow of the kernel's event queue, a suspend or a
full queue, the difference between disk and ledger is the work that is left.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator

from grader_daemon.domain.ledger import FileStamp
from grader_daemon.sources.discovery import FoundFile


def plan(
    found: Iterable[FoundFile], remembered: Callable[[str], FileStamp | None], again: Container[str]
) -> Iterator[FoundFile]:
    """Yield the files that the ledger does not know, or knows with another stamp, or that are to be read again.

    Args:
        found: files on disk.
        remembered: gives the stamp that the ledger has for a path.
        again: paths of files for which that says nothing.
    """
    for file in found:
        if file.path in again or remembered(file.path) != file.stamp:
            yield file
