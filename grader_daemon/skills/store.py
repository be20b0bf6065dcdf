"""The versions seen of skills and configuration files."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from grader_daemon.domain.installed import InstalledKind, ObservedVersion
from grader_daemon.storage.sqlite.database import Table
from grader_daemon.storage.sqlite.rows import known_moment, to_moment, to_text

_COLUMNS = ("kind", "name", "agent", "path", "digest", "bytes", "written_at", "first_seen", "last_seen", "gone_at")
_SAVE = (
    f"INSERT INTO observed_versions ({', '.join(_COLUMNS)}) VALUES ({', '.join('?' * len(_COLUMNS))})"
    " ON CONFLICT (path, first_seen) DO UPDATE SET last_seen = excluded.last_seen, gone_at = excluded.gone_at"
)
_SELECT = f"SELECT {', '.join(_COLUMNS)} FROM observed_versions"


class ObservedVersions(Table):
    """Versions of skills and configuration files as they were seen on disk."""

    def save(self, versions: Iterable[ObservedVersion]) -> None:
        """Keep versions; of one that is kept, by path and when it was first seen, when it was last seen, and gone."""
        self._database.connection.executemany(_SAVE, [_row(each) for each in versions])

    def versions(self, since: datetime | None = None) -> list[ObservedVersion]:
        """Return the versions that were seen since a moment, by default all, in the order in which they came."""
        rows = self._database.rows(f"{_SELECT} WHERE ?1 IS NULL OR last_seen >= ?1", (to_text(since),))
        return sorted(map(_to_version, rows), key=lambda each: (each.first_seen, each.path))

    def forget(self, path: str, *, keep: int) -> None:
        """Forget the versions of one path but for the newest `keep`, at least one."""
        self._database.connection.execute(
            "DELETE FROM observed_versions WHERE path = ?1 AND first_seen <="
            " (SELECT first_seen FROM observed_versions WHERE path = ?1 ORDER BY first_seen DESC LIMIT 1 OFFSET ?2)",
            (path, keep),
        )


def _row(version: ObservedVersion) -> tuple[str | int | None, ...]:
    return (
        version.kind,
        version.name,
        version.agent,
        version.path,
        version.digest,
        version.bytes,
        to_text(version.written_at),
        to_text(version.first_seen),
        to_text(version.last_seen),
        to_text(version.gone_at),
    )


def _to_version(row: tuple[str, str, str | None, str, str, int, str, str, str, str | None]) -> ObservedVersion:
    kind, name, agent, path, digest, size, written_at, first_seen, last_seen, gone_at = row
    return ObservedVersion(
        kind=InstalledKind(kind),
        name=name,
        agent=agent,
        path=path,
        digest=digest,
        bytes=size,
        written_at=known_moment(written_at),
        first_seen=known_moment(first_seen),
        last_seen=known_moment(last_seen),
        gone_at=to_moment(gone_at),
    )
