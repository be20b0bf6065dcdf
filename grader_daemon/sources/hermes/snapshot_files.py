"""Hermes Agent's JSON snapshots as a source: each session a file of its own, written anew as a whole."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import tzinfo

from grader_daemon.domain.limits import Limits
from grader_daemon.domain.session import SkipReason
from grader_daemon.domain.unit import Unit
from grader_daemon.sources.hermes import snapshot
from grader_daemon.sources.session_files import Parsed, SessionFiles


class HermesSnapshots(SessionFiles):
    """``session_<id>.json`` below the roots, and the files beside it that are not sessions."""

    name = snapshot.NAME
    title = "Hermes"
    unknown = snapshot.UNKNOWN

    def __init__(self, roots: Sequence[str] = (), *, zone: tzinfo | None, limits: Limits) -> None:
        """Set up; for `zone` see `snapshot.parse`."""
        super().__init__(roots, limits=limits)
        self._zone = zone

    def claims(self, path: str) -> bool:
        """See `Source.claims`."""
        return snapshot.claims(path)

    def recognizes(self, path: str, beginning: bytes) -> bool:
        """See `Source.recognizes`."""
        return snapshot.claims(path)

    def skipped_by_name(self, path: str) -> SkipReason | None:
        """See `SessionFiles.skipped_by_name`."""
        return snapshot.companion(path)

    def parse(self, content: bytes, unit: Unit) -> Parsed:
        """See `SessionFiles.parse`."""
        return Parsed(snapshot.parse(content, unit.locator, zone=self._zone, limits=self.limits))
