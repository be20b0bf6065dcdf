"""A unit of ours in the folder of the user's systemd: whether somebody edited it, and writing it."""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterable, Sequence
from pathlib import Path

from grader_daemon.errors import ServiceError
from grader_daemon.integrations.files import replace_file
from grader_daemon.service.systemd import UserManager
from grader_daemon.service.unit_file import Unit, edits, is_edited

_TOLD_EDITS = 4


class InstalledUnit:
    """Unit of systemd at its place, where it is or will be."""

    def __init__(self, manager: UserManager, unit: Unit) -> None:
        self._manager = manager
        self._unit = unit
        self.name = unit.name
        self.path = manager.units / unit.name

    def read(self) -> str | None:
        """Return the unit that is in place; None: there is none."""
        try:
            return self.path.read_text("utf-8", "replace")
        except FileNotFoundError:
            return None

    @property
    def is_edited(self) -> bool:
        """True if somebody edited what is in place."""
        there = self.read()
        return there is not None and is_edited(self._unit, there)

    def is_other_than(self, fitted: str) -> bool:
        """Return whether another unit is in place than a fitted one, or none; what somebody edited is theirs."""
        return not self.is_edited and self.read() != fitted

    def refuse_if_edited(self, fitted: str) -> None:
        """Refuse to replace what somebody edited.

        Raises:
            ServiceError: somebody did; the text says what, and what can be done.
        """
        edited = self._edited(fitted)
        if edited is not None:
            raise ServiceError(self._refusal(edits(edited, fitted)))

    def keep_if_edited(self, fitted: str) -> Path | None:
        """Write a copy of what somebody edited under a name that systemd takes for no unit; None: nobody did."""
        edited = self._edited(fitted)
        if edited is None:
            return None
        names = (self.path.with_name(f"{self._unit.name}.edited{number}") for number in itertools.count(1))
        copy = next(name for name in names if not name.exists())
        _put(copy, edited)
        return copy

    def write(self, fitted: str) -> bool:
        """Write the unit; False: it is there already."""
        if not self.path.is_symlink() and self.read() == fitted:
            return False
        make_folders([self.path.parent])
        _put(self.path, fitted)
        return True

    def enable(self) -> bool:
        """Have it started with each session of the user; False: it is already.

        Raises:
            ServiceError: systemd uses another file of this name, or did not do it.
        """
        state = self._manager.state(self._unit.name)
        if state.load != "loaded" or not os.path.samefile(state.path, self.path):
            raise ServiceError(f"systemd has not read {self.path}: {state.load} {state.path}".rstrip())
        if state.enabled == "enabled":
            return False
        self._manager.enable(self._unit.name)
        return True

    def _edited(self, fitted: str) -> str | None:
        """Return the unit that is in place if it is another one, and somebody edited it."""
        there = self.read()
        return there if there is not None and there != fitted and is_edited(self._unit, there) else None

    def _refusal(self, lines: list[str]) -> str:
        more = f" and {len(lines) - _TOLD_EDITS} more lines" if len(lines) > _TOLD_EDITS else ""
        return (
            f"{self.path} was edited by hand: {'; '.join(lines[:_TOLD_EDITS])}{more}. Lines of your own belong into a"
            f" drop-in (systemctl --user edit {self._unit.name}); --force replaces the unit and keeps a copy"
        )


def remove_units(manager: UserManager, units: Sequence[InstalledUnit]) -> None:
    """Stop units, in this order, and remove them.

    Raises:
        ServiceError: systemd did not do it.
    """
    for unit in units:
        manager.disable(unit.name)
        unit.path.unlink()
    manager.reload()
    for unit in units:
        manager.forget(unit.name)


def make_folders(paths: Iterable[Path]) -> None:
    """Make folders that are not there, for their owner alone.

    Raises:
        ServiceError: one cannot be made.
    """
    for path in paths:
        try:
            path.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError as error:
            raise ServiceError(f"{path}: cannot be made: {error.strerror}") from error


def _put(path: Path, text: str) -> None:
    try:
        replace_file(path, text)
    except OSError as error:
        raise ServiceError(f"{path}: cannot be written: {error.strerror}") from error
