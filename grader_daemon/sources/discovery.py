"""Finding units below a folder, at the speed of the directory listing."""

from __future__ import annotations

import os
import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from copy import copy
from typing import Final, NamedTuple

from grader_daemon.domain.unit import Found
from grader_daemon.errors import ReadError

_ENCODING: Final = sys.getfilesystemencoding()
_ERRORS: Final = sys.getfilesystemencodeerrors()
"""`os.fsencode` and `os.fsdecode` take three times as long, a tenth of the time that a walk takes."""

Claims = Callable[[str], bool]
UnitsOf = Callable[[str, os.stat_result], Iterable[Found]]
OnBug = Callable[[Exception], None]


class Taker(NamedTuple):
    """A source's part in a walk: the files it claims, the units in one of this status, and the folders it enters."""

    claims: Claims
    units_of: UnitsOf
    enters: Callable[[str], bool]


class Walk:
    """One walk below a root.

    `folders` and `files` count what it has passed; `unreadable` names what it could not enter, `failed` the sources
    that failed on something by a bug of ours. Folders near the root come first; after `most_folders` it ends, and
    `is_cut` says that it did.
    """

    def __init__(
        self, root: str, *, claims: Claims, units_of: UnitsOf, enters: Callable[[str], bool] = lambda _: True
    ) -> None:
        """`claims` tells of a path whether the file is of interest; `units_of` gives the units in one of this status.

        `enters` tells of a folder below the root whether there may be any in or below it.

        `units_of` may raise OSError: then the file is passed over; or ReadError: then it is among the `unreadable`.
        """
        self.folders = 0
        self.files = 0
        self.unreadable: list[str] = []
        self.failed: set[str] = set()
        self.most_folders: int | None = None
        self.newest_first = False
        """Folders and files come in the opposite order of their names, for whoever does not go to the end."""
        self.is_cut = False
        self.root = root
        self.takers = [Taker(claims, units_of, enters)]
        """Takers that are asked for a file, in this order."""

    def joined(self, others: Iterable[Walk]) -> Walk:
        """Return one walk in place of this one and others of the same root; a file is of the first that claims it."""
        return self._with([*self.takers, *(taker for other in others for taker in other.takers)])

    def but(self, is_taken: Callable[[str], bool]) -> Walk:
        """Return a walk that passes over files that are taken by somebody else."""
        return self._with([taker._replace(claims=_free(taker.claims, is_taken)) for taker in self.takers])

    def each_found(self, change: Callable[[Found], Found]) -> Walk:
        """Return a walk whose units are found as `change` makes them."""
        return self._with([taker._replace(units_of=_changed(taker.units_of, change)) for taker in self.takers])

    def guarded(self, on_bug: OnBug) -> Walk:
        """Return a walk that passes over what a taker fails on by a bug of ours, tells it, and goes on."""
        return self._with([_guarded(taker, on_bug) for taker in self.takers])

    def _with(self, takers: list[Taker]) -> Walk:
        walk = copy(self)
        walk.takers, walk.unreadable, walk.failed = takers, [], set()
        return walk

    def of_file(self, path: str) -> list[Found]:
        """Return the units in one file, whatever its name is; none where it cannot be looked into."""
        try:
            status = os.lstat(path)
            return next((found for taker in self.takers if (found := list(taker.units_of(path, status)))), [])
        except (OSError, ReadError):
            return []

    def __iter__(self) -> Iterator[Found]:
        """Yield the units of every file that is claimed, links not followed, each folder's in order of their names.

        Names of sessions begin with their time, so that order is the one in which a database grows fastest.
        """
        pending = deque([self.root])
        while pending:
            if self.folders == self.most_folders:
                self.is_cut = True
                return
            folder = pending.popleft()
            try:
                claimed = self._list(folder, pending)
            except OSError:
                self.unreadable.append(folder)
                continue
            self.folders += 1
            above = os.path.join(folder, "")
            for taker, names in zip(self.takers, claimed, strict=True):
                yield from self._found(above, names, taker.units_of)

    def _found(self, above: str, names: list[bytes], units_of: UnitsOf) -> Iterator[Found]:
        for name in names:
            path = above + name.decode(_ENCODING, _ERRORS)
            try:
                units = units_of(path, os.lstat(path))
            except OSError:
                continue
            except ReadError:
                self.unreadable.append(path)
                continue
            self.files += 1
            yield from units

    def _list(self, folder: str, pending: deque[str]) -> list[list[bytes]]:
        """Return the files of a folder that each taker claims: of a million, memory holds the names alone, as bytes."""
        takers = [(taker.claims, taker.enters, list[bytes]()) for taker in self.takers]
        folders = []
        with os.scandir(folder) as entries:
            for entry in entries:
                path = entry.path
                if entry.is_dir(follow_symlinks=False):
                    if any(enters(path) for _, enters, _ in takers):
                        folders.append(path)
                    continue
                for claims, _, names in takers:
                    if claims(path):
                        names.append(entry.name.encode(_ENCODING, _ERRORS))
                        break
        pending.extend(sorted(folders, reverse=True) if self.newest_first else folders)
        claimed = [names for *_, names in takers]
        for names in claimed:
            names.sort(reverse=self.newest_first)
        return claimed


def could_not_read(walks: Iterable[Walk]) -> tuple[str, ...]:
    """Return what finished walks could not read of what is there; for several behind one closed folder, that folder."""
    places = (closed_at(place) or place for walk in walks for place in walk.unreadable)
    return tuple(dict.fromkeys(place for place in places if os.path.lexists(place)))


def closed_at(folder: str) -> str | None:
    """Return the folder that this user may not look into to list `folder`: this one, or one above it.

    None if it can be listed, or is not there.
    """
    place = folder
    try:
        os.scandir(folder).close()
    except PermissionError:
        pass
    except OSError:
        return None
    else:
        return None
    while not os.path.lexists(place):  # nothing is known of what lies in a closed folder
        place = os.path.dirname(place)
    return place


def is_missing(folder: str | os.PathLike[str]) -> bool:
    """Return whether there is no such folder, as far as this user may know."""
    return not os.path.isdir(folder) and closed_at(os.fspath(folder)) is None


def _free(claims: Claims, is_taken: Callable[[str], bool]) -> Claims:
    return lambda path: claims(path) and not is_taken(path)


def _changed(units_of: UnitsOf, change: Callable[[Found], Found]) -> UnitsOf:
    return lambda path, status: map(change, units_of(path, status))


def _guarded(taker: Taker, on_bug: OnBug) -> Taker:
    def units_of(path: str, status: os.stat_result) -> Iterable[Found]:
        try:
            found = taker.units_of(path, status)
        except (OSError, ReadError):
            raise
        except Exception as error:  # noqa: BLE001  whatever it was, the other files are listed
            on_bug(error)
            return ()
        return found if isinstance(found, tuple) else _safely(found, on_bug)

    return Taker(_answering(taker.claims, on_bug), units_of, _answering(taker.enters, on_bug))


def _safely(units: Iterable[Found], on_bug: OnBug) -> Iterator[Found]:
    try:
        yield from units
    except Exception as error:  # noqa: BLE001  the same
        on_bug(error)


def _answering(ask: Claims, on_bug: OnBug) -> Claims:
    def answer(path: str) -> bool:
        try:
            return ask(path)
        except Exception as error:  # noqa: BLE001  the same
            on_bug(error)
            return False

    return answer
