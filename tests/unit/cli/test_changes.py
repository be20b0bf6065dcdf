from __future__ import annotations

import json
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from grader_daemon.domain.feedback import FeedbackSource, Said, Sampling
from grader_daemon.domain.installed import InstalledKind, ObservedVersion
from grader_daemon.pipeline.save_labels import add_feedback
from grader_daemon.pipeline.saving import save_grades
from grader_daemon.skills.store import ObservedVersions
from grader_daemon.storage.sqlite.store import SqliteStore
from tests.strategies import NOW, grade, new_grade
from tests.unit.cli.conftest import Run

DATABASE = Path(".timmy/uniwizard/session_grades.db")
HOUR = timedelta(hours=1)


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """Two hundred sessions, of which the last hundred are by another model that completes half as many."""
    (tmp_path / DATABASE).parent.mkdir(parents=True)
    now = datetime.now(UTC)  # noqa: TID251  the commands' clock is the real one
    made = [
        grade(
            session_id=f"session-{number}",
            session_file=f"/session-{number}",
            agent="hermes",
            model="strong" if number < 100 else "evil\x1b[31m",
            task_completed=number % 10 < (8 if number < 100 else 4),
            p_completed=None,
            system_prompt_digest=f"{number}",
            ended_at=now - (200 - number) * HOUR,
        )
        for number in range(200)
    ]
    seen = [
        _version("a" * 32, now - 300 * HOUR),
        _version("b" * 32, now - 20 * HOUR),
    ]
    with closing(SqliteStore(tmp_path / DATABASE)) as store, store.transaction():
        save_grades(store, [new_grade(one) for one in made])
        ObservedVersions(store).save(seen)
    return tmp_path


def _version(digest: str, at: datetime) -> ObservedVersion:
    return ObservedVersion(
        kind=InstalledKind.CONFIGURATION,
        name="config.yaml",
        agent="hermes",
        path="/home/t/.hermes/config.yaml",
        digest=digest,
        bytes=9,
        written_at=at,
        first_seen=at,
        last_seen=at,
    )


def judge(home: Path, source: FeedbackSource, numbers: range) -> None:
    """Say of sessions what became of them: as rewards, or as a person whom a review asked by chance."""
    sampled = Sampling.RANDOM if source is FeedbackSource.REVIEW else None
    said = [
        Said(
            session_id=f"session-{number}",
            by="run",
            source=source,
            completed=number % 10 < (8 if number < 100 else 4),
            sampled=sampled,
        )
        for number in numbers
    ]
    with closing(SqliteStore(home / DATABASE)) as store, store.transaction():
        add_feedback(store, said, now=NOW)


def test_changes_are_told_newest_first_with_what_came_since(home: Path, run: Run) -> None:
    judge(home, FeedbackSource.REWARD, range(200))
    ended = run(home, "changes")

    lines = ended.stdout.splitlines()
    assert lines[0].startswith("200 finished tasks examined, since ")
    few, _, missing, meanwhile, _, fall, rates = lines[2:9]
    assert meanwhile.startswith("  Also in the compared time: the model of hermes changed")
    assert few == "Too few sessions to compare since config.yaml of hermes was edited"
    assert missing == "  30 requests are needed on each side: 10 more since."
    assert fall.startswith("−40 points (")
    assert fall.endswith(") since the model of hermes changed from strong to evil�[31m")
    assert "100 sessions before, 100 since; completion 80 % (" in rates
    assert "\x1b" not in ended.stdout
    assert "because" not in ended.stdout


def test_without_labels_completion_is_not_compared(home: Path, run: Run) -> None:
    lines = run(home, "changes").stdout.splitlines()
    assert lines[7].startswith("Too few labels to compare completion since the model of hermes changed")
    assert lines[9] == (
        "  A comparison needs about 50 random labels on each side, at least 20: 20 more before, 20 more since."
        " Next: grader-daemon label."
    )
    effects = json.loads(run(home, "changes", "--json").stdout)["effects"]
    assert {each["by_words"] for each in effects} == {False}
    assert not any(each["is_sure"] for each in effects)


def test_random_labels_on_both_sides_tell_a_difference(home: Path, run: Run) -> None:
    judge(home, FeedbackSource.REVIEW, range(40, 160))
    told = run(home, "changes").stdout
    assert "−40 points (" in told
    assert ", by 60 and 60 random labels, mix corrected." in told


def test_without_a_difference_nothing_is_said_of_its_worth(home: Path, run: Run) -> None:
    assert "Compared by" not in run(home, "changes", "--since", "2d").stdout


def test_what_differs_in_every_session_is_told_as_such(home: Path, run: Run) -> None:
    assert run(home, "changes").stdout.splitlines()[-1] == (
        "The system prompt of hermes differs in most sessions (200 in 200), so single changes are not shown."
    )


def test_only_changes_since_then_are_told(home: Path, run: Run) -> None:
    told = json.loads(run(home, "changes", "--since", "2d", "--json").stdout)

    assert [effect["changes"][0]["name"] for effect in told["effects"]] == ["config.yaml"]
    assert told["known"] == {"model": 200, "agent_version": 0, "system_prompt": 200, "tools": 0}


def test_without_a_change_that_is_said(home: Path, run: Run) -> None:
    assert "Sessions and files show no changes." in run(home, "changes", "--since", "1h").stdout


@pytest.mark.parametrize("since", ["999999w", "0001-01-01"])
def test_all_changes_that_there_ever_were_can_be_asked_for(home: Path, run: Run, since: str) -> None:
    all_time, lately = (run(home, "changes", *more).stdout.splitlines() for more in (["--since", since], []))
    assert all_time[0].startswith("200 finished tasks examined, since 1 January 1 ")
    assert all_time[1:] == lately[1:]


@pytest.mark.parametrize("since", ["yesterday", "1e9d", ""])
def test_a_wrong_moment_is_one_line(home: Path, run: Run, since: str) -> None:
    ended = run(home, "changes", "--since", since)

    assert ended.returncode == 2
    assert "Traceback" not in ended.stderr
