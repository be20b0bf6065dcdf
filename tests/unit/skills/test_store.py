"""Versions of skills and configuration files."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest
from msgspec.structs import replace

from grader_daemon.domain.installed import InstalledKind, ObservedVersion
from grader_daemon.errors import StoreError
from grader_daemon.skills.store import ObservedVersions
from grader_daemon.storage.sqlite.store import SqliteStore
from tests.strategies import NOW

HOUR = timedelta(hours=1)


def version(path: str = "/skills/a", digest: str = "d", *, at: datetime = NOW) -> ObservedVersion:
    return ObservedVersion(
        kind=InstalledKind.SKILL,
        name="a",
        agent=None,
        path=path,
        digest=digest,
        bytes=3,
        written_at=NOW - HOUR,
        first_seen=at,
        last_seen=at,
    )


def keep(store: SqliteStore, *versions: ObservedVersion) -> None:
    with store.transaction():
        ObservedVersions(store).save(versions)


def test_versions_come_back_in_the_order_in_which_they_came(store: SqliteStore) -> None:
    made = [version("/b", at=NOW + HOUR), version("/c"), version("/a")]
    keep(store, *made)
    assert ObservedVersions(store).versions() == [made[2], made[1], made[0]]


def test_a_version_that_is_kept_is_only_seen_again(store: SqliteStore) -> None:
    keep(store, version(digest="first"))
    keep(store, replace(version(digest="other"), last_seen=NOW + HOUR))
    assert ObservedVersions(store).versions() == [replace(version(digest="first"), last_seen=NOW + HOUR)]


def test_a_version_that_is_gone_is_kept_as_such(store: SqliteStore) -> None:
    gone = replace(version(), gone_at=NOW + HOUR)
    keep(store, version())
    keep(store, gone)
    assert ObservedVersions(store).versions() == [gone]
    keep(store, version(at=NOW + 2 * HOUR))
    assert ObservedVersions(store).versions() == [gone, version(at=NOW + 2 * HOUR)]


def test_versions_since_a_moment_are_those_that_were_there_then(store: SqliteStore) -> None:
    over, there = version("/over"), replace(version("/there"), last_seen=NOW + HOUR)
    keep(store, over, there)
    assert ObservedVersions(store).versions(NOW + HOUR) == [there]


def test_of_one_path_the_newest_versions_stay(store: SqliteStore) -> None:
    keep(store, *[version("/a", at=NOW + hours * HOUR) for hours in range(3)], version("/b"))
    with store.transaction():
        ObservedVersions(store).forget("/a", keep=2)
        ObservedVersions(store).forget("/b", keep=2)
    assert [(each.path, each.first_seen) for each in ObservedVersions(store).versions()] == [
        ("/b", NOW),
        ("/a", NOW + HOUR),
        ("/a", NOW + 2 * HOUR),
    ]


def test_versions_of_a_unit_of_work_that_fails_are_not_kept(store: SqliteStore) -> None:
    def fail() -> None:
        with store.transaction():
            ObservedVersions(store).save([version()])
            raise StoreError("no")

    with pytest.raises(StoreError):
        fail()
    assert ObservedVersions(store).versions() == []
