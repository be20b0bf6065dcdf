"""Objects of a git repository, loose and packed: read by their formats alone, within a budget.

Of a repository nothing else is read: no configuration, no attributes, no hooks, no alternates, so nothing in it can
have a program run or lead out of it. Files are read, not mapped into memory: one that is cut while it is read is an
error, not the end of the process. An object is checked against its name, so none can be passed off as another.

Formats: gitformat-pack(5), gitformat-loose(5). Why this is no library: docs/decisions.md.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator
from typing import Final

from grader_daemon.errors import ReadError
from grader_daemon.outcomes.budget import Budget
from grader_daemon.outcomes.packs import KINDS, MOST_INFLATED, GitObject, Pack, inflate, open_pack
from grader_daemon.sources.file_reading import open_file

_MOST_PACKS: Final = 64
_MOST_LOOSE: Final = 50_000
_HEX: Final = re.compile(r"[0-9a-f]{4,40}")
_ID: Final = re.compile(r"[0-9a-f]{40}")


class Objects:
    """The objects in a folder ``objects``. Close it."""

    def __init__(self, folder: str, budget: Budget) -> None:
        """`folder` is that of the objects; below it no link is followed."""
        self._folder = folder
        self._budget = budget
        self._packs: list[Pack] | None = None

    def close(self) -> None:
        """Close the files of packs; safe to call twice."""
        for pack in self._packs or ():
            pack.close()
        self._packs = None

    def read(self, name: str) -> GitObject | None:
        """Return an object; None where there is none of this name, or it is larger than what is read.

        Raises:
            OverBudgetError: the look is at its end.
            ReadError: it is damaged, or may not be read.
        """
        from hashlib import (
            sha1,  # OpenSSL comes with it, which a daemon whose sessions are in no repository never needs
        )

        self._budget.charge(0, objects=1)
        raw = bytes.fromhex(name)
        found = self._packed(raw)
        if found is None:
            found = self._loose(name)
        if found is None:
            return None
        header = f"{found.kind} {len(found.content)}".encode() + b"\0"
        if sha1(header + found.content, usedforsecurity=False).digest() != raw:
            raise ReadError(f"its object {name[:12]} is damaged")
        return found

    def whole_names(self, prefix: str) -> list[str]:
        """Return the names of objects that begin like this, two at most: more is as good as none."""
        if not _HEX.fullmatch(prefix):
            return []
        found = set(self._loose_names(prefix))
        for pack in self._all_packs():
            found.update(pack.names(prefix))
        return sorted(found)[:2]

    def _packed(self, raw: bytes) -> GitObject | None:
        for pack in self._all_packs():
            offset = pack.offset_of(raw)
            if offset is not None:
                return pack.read(offset)
        return None

    def _loose(self, name: str) -> GitObject | None:
        content = self._inflated(os.path.join(self._folder, name[:2], name[2:]))
        if content is None:
            return None
        header, _, rest = content.partition(b"\0")
        kind, _, size = header.partition(b" ")
        if kind.decode("ascii", "replace") not in KINDS.values() or size != str(len(rest)).encode():
            raise ReadError(f"its object {name[:12]} is damaged")
        return GitObject(kind.decode(), rest)

    def _inflated(self, path: str) -> bytes | None:
        try:
            descriptor = open_file(path, [self._folder])
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as error:
            raise ReadError(f"its objects cannot be read: {error.strerror}") from error
        try:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                raise ReadError("an object in it is not a file")
            return inflate(descriptor, 0, MOST_INFLATED, self._budget, exact=False)
        finally:
            os.close(descriptor)

    def _loose_names(self, prefix: str) -> Iterator[str]:
        try:
            with os.scandir(os.path.join(self._folder, prefix[:2])) as entries:
                for number, entry in enumerate(entries):
                    self._budget.charge(64)
                    if number > _MOST_LOOSE:
                        return
                    name = prefix[:2] + entry.name
                    if name.startswith(prefix) and _ID.fullmatch(name):
                        yield name
        except OSError:
            return

    def _all_packs(self) -> list[Pack]:
        if self._packs is None:
            self._packs = []
            for path in self._index_paths():
                pack = open_pack(path, self._budget)
                if pack is not None:
                    self._packs.append(pack)
        return self._packs

    def _index_paths(self) -> list[str]:
        folder = os.path.join(self._folder, "pack")
        try:
            with os.scandir(folder) as entries:
                found = [entry.path for entry in entries if entry.name.endswith(".idx")]
        except (FileNotFoundError, NotADirectoryError):
            return []
        except OSError as error:
            raise ReadError(f"its packs cannot be read: {error.strerror}") from error
        if len(found) > _MOST_PACKS:
            raise ReadError(f"it has {len(found):,} packs, more than the limit of {_MOST_PACKS}; run git gc")
        return sorted(found)
