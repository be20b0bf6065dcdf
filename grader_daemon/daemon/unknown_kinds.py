"""Log of what sources pass over unread, once for each version of an agent: their formats change all the time."""

from __future__ import annotations

import structlog

from grader_daemon.domain.session import SkipReason
from grader_daemon.domain.text import clean
from grader_daemon.pipeline.examine import GradedUnit, SkippedUnit
from grader_daemon.redaction import SECRETS
from grader_daemon.sources.protocol import UnknownKinds

_MOST_VERSIONS = 1_000
"""Most versions that are told: a version is what a file says."""

_MOST_NAMED = 5


class UnknownTold:
    """Versions that were told since the daemon began. Only the worker's thread calls it."""

    def __init__(self) -> None:
        self._told: set[tuple[str, str | None, bool]] = set()
        self._log = structlog.get_logger()

    def tell(self, unknown: UnknownKinds, examined: GradedUnit | SkippedUnit) -> None:
        """Log what a version writes that is not known, once; louder if nothing of a session can be read."""
        reason = examined.skipped.reason if isinstance(examined, SkippedUnit) else None
        unreadable = reason is SkipReason.UNREADABLE_VERSION
        about = (examined.unit.source, unknown.version, unreadable)
        if about in self._told or len(self._told) >= _MOST_VERSIONS:
            return
        self._told.add(about)
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
