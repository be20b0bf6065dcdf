"""A unit file of ours in the folder of the user's systemd: whether somebody edited it, and writing it."""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from pathlib import Path

from grader_daemon.errors import ServiceError
from grader_daemon.integrations.files import replace_file
from grader_daemon.service.unit_file import edits, is_edited

_TOLD_EDITS = 4


class InstalledFile:
    """Unit file at its place, where it is or will be."""

    was_edited = staticmethod(is_edited)
    edits = staticmethod(edits)

    def __init__(self, path: Path) -> None:
        self.path = path

    @property
    def advice(self) -> str:
        """Advice to somebody who edited it."""
        drop_in = f"Put your own lines into a drop-in (systemctl --user edit {self.path.name})"
        return f"{drop_in}; --force replaces the unit and keeps a copy"

    def read(self) -> str | None:
        """Return what is in place; None: there is nothing."""
        try:
            return self.path.read_text("utf-8", "replace")
        except FileNotFoundError:
            return None

    @property
    def is_edited(self) -> bool:
        """True if somebody edited what is in place."""
        there = self.read()
        return there is not None and self.was_edited(there)

    def refuse_if_edited(self, fitted: str) -> None:
        """Refuse to replace what somebody edited.

        Raises:
            ServiceError: somebody did; the text says what, and what can be done.
        """
        edited = self._edited(fitted)
        if edited is None:
            return
        lines = self.edits(edited, fitted)
        more = f" and {len(lines) - _TOLD_EDITS} more lines" if len(lines) > _TOLD_EDITS else ""
        raise ServiceError(f"{self.path} was edited by hand: {'; '.join(lines[:_TOLD_EDITS])}{more}. {self.advice}")

    def keep_if_edited(self, fitted: str) -> Path | None:
        """Write a copy of what somebody edited under a name that systemd takes for no unit; None: nobody did."""
        edited = self._edited(fitted)
        if edited is None:
            return None
        names = (self.path.with_name(f"{self.path.name}.edited{number}") for number in itertools.count(1))
        copy = next(name for name in names if not name.exists())
        _put(copy, edited)
        return copy

    def write(self, fitted: str) -> bool:
        """Write the file; False: it is there already."""
        if not self.path.is_symlink() and self.read() == fitted:
            return False
        make_folders([self.path.parent])
        _put(self.path, fitted)
        return True

    def _edited(self, fitted: str) -> str | None:
        """Return what is in place if it is another text, and somebody edited it."""
        there = self.read()
        return there if there is not None and there != fitted and self.was_edited(there) else None


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
