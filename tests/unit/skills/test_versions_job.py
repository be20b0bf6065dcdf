from __future__ import annotations

import os
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from msgspec.structs import replace

from grader_daemon.domain.installed import InstalledKind, ObservedVersion
from grader_daemon.errors import StoreError
from grader_daemon.skills import content
from grader_daemon.skills.places import Installed
from grader_daemon.skills.store import ObservedVersions
from grader_daemon.skills.takeovers import file_changes
from grader_daemon.skills.versions_job import VersionsJob
from grader_daemon.storage.sqlite.store import SqliteStore
from tests.strategies import NOW

MINUTE = timedelta(minutes=1)
HOUR = timedelta(hours=1)


@pytest.fixture
def home(tmp_path: Path) -> Path:
    folder = tmp_path / "home" / "skills" / "deploy"
    folder.mkdir(parents=True)
    write(folder / "SKILL.md", "one")
    return tmp_path / "home"


def write(path: Path, text: str) -> None:
    path.write_text(f"---\nname: deploy\ndescription: Deploys.\n---\n{text}\n")


def skill_file(home: Path) -> Path:
    return home / "skills" / "deploy" / "SKILL.md"


def make_job(store: SqliteStore, home: Path) -> VersionsJob:
    return VersionsJob(store, Installed({"hermes": [str(home)]}, skill_roots=()))


@pytest.fixture
def job(store: SqliteStore, home: Path) -> VersionsJob:
    return make_job(store, home)


def spans(store: SqliteStore) -> list[tuple[datetime, datetime]]:
    return [(each.first_seen, each.last_seen) for each in ObservedVersions(store).versions()]


def test_the_first_look_notes_what_is_there(job: VersionsJob, store: SqliteStore, home: Path) -> None:
    (home / "config.yaml").write_text("model: x")
    assert job.run(NOW)
    config, skill = ObservedVersions(store).versions()
    assert (config.kind, config.name, config.bytes) == (InstalledKind.CONFIGURATION, "config.yaml", 8)
    assert (skill.kind, skill.name, skill.agent) == (InstalledKind.SKILL, "deploy", "hermes")
    assert skill.path == str(home / "skills" / "deploy")


def test_an_edit_is_a_version_of_its_own(job: VersionsJob, store: SqliteStore, home: Path) -> None:
    job.run(NOW)
    write(skill_file(home), "two")
    assert job.run(NOW + MINUTE)
    before, after = ObservedVersions(store).versions()
    assert before.digest != after.digest
    assert (before.first_seen, after.first_seen) == (NOW, NOW + MINUTE)


def test_what_is_touched_but_says_the_same_is_no_version(job: VersionsJob, store: SqliteStore, home: Path) -> None:
    job.run(NOW)
    os.utime(skill_file(home), (1, 1))
    assert not job.run(NOW + MINUTE)
    assert spans(store) == [(NOW, NOW)]


def test_a_version_that_returns_is_a_row_of_its_own(job: VersionsJob, store: SqliteStore, home: Path) -> None:
    for minute, text in enumerate(("one", "two", "one")):
        write(skill_file(home), text)
        job.run(NOW + minute * MINUTE)
    first, _, third = ObservedVersions(store).versions()
    assert first.digest == third.digest


def test_what_is_removed_and_comes_back_the_same_leaves_both(
    job: VersionsJob, store: SqliteStore, home: Path, tmp_path: Path
) -> None:
    job.run(NOW)
    aside = (home / "skills" / "deploy").rename(tmp_path / "aside")
    assert not job.run(NOW + MINUTE)
    assert job.run(NOW + 2 * MINUTE)
    assert not job.run(NOW + 3 * MINUTE)
    aside.rename(home / "skills" / "deploy")
    assert job.run(NOW + 9 * MINUTE)
    before, after = ObservedVersions(store).versions()
    assert (before.gone_at, before.last_seen, after.gone_at) == (NOW + MINUTE, NOW, None)
    assert (before.digest, after.first_seen) == (after.digest, NOW + 9 * MINUTE)
    removed, added = file_changes([before, after])
    assert (removed.at, removed.before, removed.after) == (NOW + MINUTE, before.digest, None)
    assert (added.at, added.before, added.after) == (NOW + 9 * MINUTE, None, after.digest)


def test_another_daemon_knows_what_is_gone(job: VersionsJob, store: SqliteStore, home: Path) -> None:
    job.run(NOW)
    skill_file(home).unlink()
    other = make_job(store, home)
    assert [other.run(NOW + minute * MINUTE) for minute in (1, 2, 3)] == [False, True, False]
    assert not make_job(store, home).run(NOW + HOUR)


def test_what_is_away_for_a_moment_is_not_gone(job: VersionsJob, store: SqliteStore, home: Path) -> None:
    job.run(NOW)
    for minute in (1, 3):
        skill_file(home).unlink()
        assert not job.run(NOW + minute * MINUTE)
        write(skill_file(home), "one")
        assert not job.run(NOW + (minute + 1) * MINUTE)
    assert spans(store) == [(NOW, NOW)]


def test_what_is_no_longer_looked_at_is_not_gone(job: VersionsJob, store: SqliteStore, tmp_path: Path) -> None:
    job.run(NOW)
    elsewhere = make_job(store, tmp_path / "elsewhere")
    assert [elsewhere.run(NOW + minute * MINUTE) for minute in (1, 2)] == [False, False]


def test_it_looks_once_a_minute_and_confirms_once_an_hour(job: VersionsJob, store: SqliteStore, home: Path) -> None:
    job.run(NOW)
    write(skill_file(home), "two")
    assert not job.run(NOW + MINUTE / 2)
    assert job.run(NOW + MINUTE)
    assert not job.run(NOW + HOUR)
    assert job.run(NOW + MINUTE + HOUR)
    assert spans(store)[-1] == (NOW + MINUTE, NOW + MINUTE + HOUR)


def test_a_clock_that_went_back_does_not_stop_it(job: VersionsJob, home: Path) -> None:
    job.run(NOW)
    write(skill_file(home), "two")
    assert job.run(NOW - HOUR)


def test_what_is_edited_after_a_clock_went_back_comes_after_what_was_there(
    job: VersionsJob, store: SqliteStore, home: Path
) -> None:
    job.run(NOW)
    write(skill_file(home), "two")
    job.run(NOW - HOUR)
    assert not make_job(store, home).run(NOW - HOUR + MINUTE)
    (edit,) = file_changes(ObservedVersions(store).versions())
    assert (edit.at > NOW, edit.before != edit.after) == (True, True)


def test_what_is_gone_after_a_clock_went_back_was_there_before(
    job: VersionsJob, store: SqliteStore, home: Path
) -> None:
    job.run(NOW)
    skill_file(home).unlink()
    assert [job.run(NOW - HOUR + minute * MINUTE) for minute in (0, 1)] == [False, True]
    write(skill_file(home), "one")
    job.run(NOW - HOUR + 3 * MINUTE)
    assert [change.before is None for change in file_changes(ObservedVersions(store).versions())] == [False, True]


def test_another_daemon_goes_on_where_the_last_one_was(store: SqliteStore, home: Path) -> None:
    make_job(store, home).run(NOW)
    assert not make_job(store, home).run(NOW + MINUTE)
    assert make_job(store, home).run(NOW + HOUR)
    assert spans(store) == [(NOW, NOW + HOUR)]


def test_at_rest_nothing_is_read(job: VersionsJob, monkeypatch: pytest.MonkeyPatch) -> None:
    job.run(NOW)
    monkeypatch.setattr(content, "read_beginning", None)
    assert not job.run(NOW + MINUTE)


def test_what_could_not_be_kept_is_noted_the_next_time(job: VersionsJob, store: SqliteStore, home: Path) -> None:
    job.run(NOW)
    write(skill_file(home), "two")
    with store.transaction(), pytest.raises(StoreError):
        job.run(NOW + MINUTE)  # inside another unit of work, where it may not begin one
    assert job.run(NOW + MINUTE)
    assert [each.first_seen for each in ObservedVersions(store).versions()] == [NOW, NOW + MINUTE]


def test_a_file_that_is_rewritten_all_the_time_does_not_fill_the_database(
    job: VersionsJob, store: SqliteStore, home: Path
) -> None:
    made = _first(job, store)
    with store.transaction():
        ObservedVersions(store).save([_again(made, minute) for minute in range(1, 300)])
    write(skill_file(home), "two")
    job.run(NOW + HOUR * 10)
    kept = ObservedVersions(store).versions()
    assert len(kept) == 200
    changes = file_changes([replace(kept[0], path="/other", first_seen=NOW - HOUR), *kept])
    assert len(changes) == 199
    assert all(change.before is not None for change in changes)


def _first(job: VersionsJob, store: SqliteStore) -> ObservedVersion:
    job.run(NOW)
    [made] = ObservedVersions(store).versions()
    return made


def _again(version: ObservedVersion, minute: int) -> ObservedVersion:
    at = NOW + minute * MINUTE
    return ObservedVersion(
        **{name: getattr(version, name) for name in version.__struct_fields__ if not name.endswith("seen")},
        first_seen=at,
        last_seen=at,
    )


def test_a_time_that_no_calendar_has_is_told_as_now(job: VersionsJob, store: SqliteStore, home: Path) -> None:
    os.utime(skill_file(home), ns=(0, -(2**62)))
    assert job.run(NOW)
    [version] = ObservedVersions(store).versions()
    assert version.written_at <= NOW


def test_a_skill_that_a_trial_takes_away_is_not_gone(store: SqliteStore, home: Path) -> None:
    away: set[str] = set()
    job = VersionsJob(store, Installed({"hermes": [str(home)]}, skill_roots=()), under_trial=lambda: away)
    job.run(NOW)
    away.add(str(home / "skills" / "deploy"))
    skill_file(home).rename(f"{skill_file(home)}.grader-trial")
    for minute in (1, 2, 3):
        assert not job.run(NOW + minute * MINUTE)
    Path(f"{skill_file(home)}.grader-trial").rename(skill_file(home))
    job.run(NOW + 4 * MINUTE)
    assert file_changes(ObservedVersions(store).versions()) == []


def test_a_file_of_a_skill_that_a_trial_takes_away_is_no_edit_and_an_edit_is_noted_after_it(
    store: SqliteStore, home: Path
) -> None:
    switched = home / "skills" / "deploy" / "steps" / "release.md"
    switched.parent.mkdir()
    switched.write_text("first")
    away = {str(switched)}
    job = VersionsJob(store, Installed({"hermes": [str(home)]}, skill_roots=()), under_trial=lambda: away)
    job.run(NOW)
    switched.rename(f"{switched}.grader-trial")
    assert not job.run(NOW + MINUTE)
    Path(f"{switched}.grader-trial").rename(switched)
    assert not job.run(NOW + 2 * MINUTE)

    switched.write_text("second")
    away.clear()

    assert job.run(NOW + 3 * MINUTE)
    assert len(file_changes(ObservedVersions(store).versions())) == 1
