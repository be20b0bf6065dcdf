"""Log of what sources pass over unread, and of versions newer than any that was tried, once for each version.

Formats of agents change all the time.
"""

from __future__ import annotations

import structlog

from grader_daemon.domain.session import SkipReason
from grader_daemon.domain.text import clean
from grader_daemon.pipeline.examine import GradedUnit, SkippedUnit
from grader_daemon.redaction import SECRETS
from grader_daemon.sources.protocol import UnknownKinds
from grader_daemon.sources.tried_versions import newer_than

_MOST_VERSIONS = 1_000
"""Most versions that are told: a version is what a file says."""

_MOST_NAMED = 5


class UnknownTold:
    """Versions that were told since the daemon started. Only the worker's thread calls it."""

    def __init__(self) -> None:
        self._told: set[tuple[str, str | None, str]] = set()
        self._log = structlog.get_logger()

    def tell(self, unknown: UnknownKinds | None, examined: GradedUnit | SkippedUnit) -> None:
        """Log what a version writes that is not known, and that it is newer than any that was tried; each once."""
        if unknown is not None:
            self._tell_unknown(unknown, examined)
        if isinstance(examined, GradedUnit):
            self._tell_newer(unknown, examined)

    def _tell_newer(self, unknown: UnknownKinds | None, examined: GradedUnit) -> None:
        source, version = examined.unit.source, examined.grade.agent_version
        tried = newer_than(source, examined.grade.agent, version)
        if version is None or tried is None or not self._is_first((source, version, "newer")):
            return
        self._log.info(
            "source.newer_version",
            level="notice",
            source=source,
            version=_shown(version),
            tried=tried,
            kinds=0 if unknown is None else len(unknown.kinds),
            broken=0 if unknown is None else unknown.broken,
            path=str(examined.unit),
        )

    def _is_first(self, about: tuple[str, str | None, str]) -> bool:
        """Return whether this is to be told, and remember that it was."""
        if about in self._told or len(self._told) >= _MOST_VERSIONS:
            return False
        self._told.add(about)
        return True

    def _tell_unknown(self, unknown: UnknownKinds, examined: GradedUnit | SkippedUnit) -> None:
        """Log kinds that are not known; louder if nothing of a session can be read."""
        reason = examined.skipped.reason if isinstance(examined, SkippedUnit) else None
        unreadable = reason is SkipReason.UNREADABLE_VERSION
        if not self._is_first((examined.unit.source, unknown.version, "unreadable" if unreadable else "unknown")):
            return
        facts = {
            "source": examined.unit.source,
            "version": None if unknown.version is None else _shown(unknown.version),
            "kinds": len(unknown.kinds),
            "names": [_shown(name) for name in unknown.kinds[:_MOST_NAMED]],
            "broken": unknown.broken,
            "path": str(examined.unit),
        }
        if unreadable:
            self._log.warning("source.unreadable_version", **facts)
        else:
            self._log.info("source.unknown_kinds", level="notice", **facts)


def _shown(text: str) -> str:
    return clean(SECRETS.redact(text))
