"""Periodic jobs. Each asks "is something missing?", so downtime and clock jumps need no special case."""

from __future__ import annotations

from datetime import datetime
from typing import Protocol


class Job(Protocol):
    """Something that is done when it is missing."""

    name: str

    def run(self, now: datetime) -> bool:
        """Do what is missing; return whether anything was.

        Raises:
            GraderError: it cannot be done now.
        """
