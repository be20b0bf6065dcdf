"""Hermes Agent's JSON snapshots as a source: each session a file of its own, written anew as a whole."""

from __future__ import annotations

import os
import stat
from collections.abc import Sequence
from datetime import tzinfo

import xxhash

from grader_daemon.domain.limits import Limits
from grader_daemon.domain.session import Skipped, SkipReason
from grader_daemon.domain.unit import Found, Unit
from grader_daemon.sources.discovery import Walk
from grader_daemon.sources.hermes import homes, snapshot
from grader_daemon.sources.protocol import Read, as_shown
from grader_daemon.sources.reading import found_file, look_at, read_file


class HermesSnapshots:
    """``session_<id>.json`` below the roots, and the files beside it that are not sessions."""

    name = snapshot.NAME
    unknown = snapshot.UNKNOWN

    def __init__(self, roots: Sequence[str] = (), *, zone: tzinfo | None, limits: Limits) -> None:
        """Set up. Below one of `roots` no link is followed to a file; for `zone` and `limits` see `snapshot.parse`."""
        self.roots = tuple(roots)
        self._zone = zone
        self._limits = limits

    def default_roots(self) -> Sequence[str]:
        """See `Source.default_roots`."""
        return (homes.default_home(),)

    def claims(self, path: str) -> bool:
        """See `Source.claims`."""
        return snapshot.claims(path)

    def touched(self, path: str) -> Sequence[Unit]:
        """See `Source.touched`."""
        return (Unit(self.name, path),)

    def walk(self, root: str) -> Walk:
        """See `Source.walk`."""
        return Walk(root, claims=snapshot.claims, units_of=_units_of)

    def look(self, unit: Unit) -> Found:
        """See `Source.look`."""
        return found_file(unit, look_at(unit.locator))

    def size_of(self, unit: Unit) -> int:
        """See `Source.size_of`."""
        try:
            return os.lstat(unit.locator).st_size
        except OSError:
            return 0  # whoever reads it says what is wrong

    def read(self, found: Found, *, unless: str | None = None) -> Read:
        """See `Source.read`."""
        path = found.unit.locator
        status = look_at(path)
        if stat.S_ISLNK(status.st_mode):
            return Read(None, Skipped(SkipReason.SYMBOLIC_LINK))
        reason = snapshot.companion(path)
        if reason is not None:
            return Read(None, Skipped(reason))
        content = read_file(found, status, limits=self._limits, roots=self.roots)
        digest = xxhash.xxh3_128_hexdigest(content)
        if digest == unless:
            return Read(digest, None)
        return Read(digest, as_shown(snapshot.parse(content, path, zone=self._zone, limits=self._limits)))


def _units_of(path: str, status: os.stat_result) -> tuple[Found]:
    return (found_file(Unit(snapshot.NAME, path), status),)
