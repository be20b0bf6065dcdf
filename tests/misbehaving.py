"""Examiners that do what no file should make one do; a helper process imports them from here."""

from __future__ import annotations

import os
import re
import signal
from datetime import datetime
from typing import Any

from grader_daemon.domain.ledger import LedgerEntry
from grader_daemon.domain.unit import Unit
from grader_daemon.pipeline.examine import Examined, Examiner


def hold_the_interpreter() -> None:
    """Match for longer than anybody waits; no signal handler of Python runs meanwhile."""
    re.match(r"(a+)+$", "a" * 64 + "b")


class Misbehaving(Examiner):
    """Does it whatever the file, unless that has `harmless` in its name."""

    def __reduce__(self) -> tuple[Any, ...]:
        """It stays what it is in another process."""
        made, _ = super().__reduce__()
        return _as, (type(self), made)

    def examine(self, unit: Unit, *, now: datetime, known: LedgerEntry | None = None) -> Examined:
        """See `Examiner.examine`."""
        if "harmless" not in unit.locator:
            self.misbehave()
        return super().examine(unit, now=now, known=known)

    def misbehave(self) -> None:
        """Do what no file should make one do."""
        raise NotImplementedError


def _as(kind: type[Misbehaving], made: Any) -> Misbehaving:
    return kind(*made.args, **made.keywords)


class Endless(Misbehaving):
    """Comes to no end."""

    def misbehave(self) -> None:
        """See `Misbehaving`."""
        hold_the_interpreter()


class Deadly(Misbehaving):
    """Ends the process."""

    def misbehave(self) -> None:
        """See `Misbehaving`."""
        os.kill(os.getpid(), signal.SIGSEGV)


class Wrong(Misbehaving):
    """Has a bug."""

    def misbehave(self) -> None:
        """See `Misbehaving`."""
        raise ZeroDivisionError("in the helper")
