"""What became of the work of sessions, in repositories whose fate is known."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import closing
from datetime import timedelta
from pathlib import Path

import pytest

from grader_daemon.domain.feedback import FeedbackSource
from grader_daemon.domain.verdict import Outcome, VerdictBy
from grader_daemon.outcomes.job import outcome_jobs
from grader_daemon.outcomes.store import OutcomesTable
from tests.followed import BEGAN, DAY, HOUR, PROGRAM, Follower, Worker
from tests.needs import require_programs
from tests.repositories import Repository
from tests.transcripts import SESSION


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    require_programs("git")
    return Repository(tmp_path / "words", at=BEGAN - 3 * DAY)


@pytest.fixture
def follower(tmp_path: Path) -> Iterator[Follower]:
    with closing(Follower(tmp_path / "grader")) as made:
        yield made


def worked(repository: Repository, follower: Follower) -> str:
    """Have a session write a program and commit it; returns the name of the commit."""
    worker = Worker(repository)
    worker.write("words.py", PROGRAM)
    commit = worker.commit()
    follower.grade([worker.end(follower.sessions)])
    return commit


def test_a_revert_is_a_label_of_its_own_and_is_told(repository: Repository, follower: Follower) -> None:
    commit = worked(repository, follower)
    follower.look(HOUR)
    assert follower.said() == []

    by = repository.revert(commit, at=BEGAN + 3 * HOUR)
    follower.look(7 * HOUR)

    assert [(each.commit, each.by) for each in follower.fate().reverted] == [(commit, by)]
    (label,) = follower.said()
    assert (label.source, label.given_by, label.completed) == (FeedbackSource.REVERT, "git", False)
    assert (follower.result().verdict_by, follower.result().outcome) == (VerdictBy.REVERT, Outcome.NOT_DONE)
    assert follower.told()["in git"].startswith(f"reverted 3 h later ({by[:7]})")


def test_a_revert_that_is_reverted_takes_the_label_back(repository: Repository, follower: Follower) -> None:
    commit = worked(repository, follower)
    by = repository.revert(commit, at=BEGAN + 3 * HOUR)
    follower.look(7 * HOUR)

    repository.revert(by, at=BEGAN + 8 * HOUR)
    follower.look(DAY + HOUR)

    assert not follower.fate().is_reverted
    assert follower.result().verdict_by is VerdictBy.RULES


def test_lines_are_counted_after_a_day_and_a_week(repository: Repository, follower: Follower) -> None:
    worked(repository, follower)
    follower.look(HOUR)
    follower.look(DAY + HOUR)
    repository.commit({"words.py": PROGRAM.replace("    words = text.split()\n", "")}, "Less", at=BEGAN + 3 * DAY)
    follower.look(7 * DAY + timedelta(hours=2))

    assert [(each.days, each.kept, each.lines) for each in follower.fate().survival] == [(1, 10, 10), (7, 9, 10)]
    assert "9 of 10 lines still there after 7 days" in follower.told()["in git"]


def test_a_persons_word_stands_above_a_revert(repository: Repository, follower: Follower) -> None:
    commit = worked(repository, follower)
    follower.grader.labels.add(SESSION, completed=True)
    repository.revert(commit, at=BEGAN + 3 * HOUR)

    follower.look(7 * HOUR)

    assert (follower.result().verdict_by, follower.result().task_completed) == (VerdictBy.PERSON, True)
    assert "reverted" in follower.told()["in git"]


def test_a_revert_that_a_person_took_back_is_not_said_again(repository: Repository, follower: Follower) -> None:
    commit = worked(repository, follower)
    repository.revert(commit, at=BEGAN + 3 * HOUR)
    follower.look(7 * HOUR)

    follower.grader.labels.undo(SESSION)
    follower.look(DAY + HOUR)

    assert follower.result().verdict_by is VerdictBy.RULES


def test_a_change_within_the_hour_is_told(repository: Repository, follower: Follower) -> None:
    worked(repository, follower)
    by = repository.commit({"words.py": PROGRAM.replace("split()", "split(None)")}, "Fix", at=BEGAN + HOUR / 2)

    follower.look(HOUR + HOUR / 6)

    told = follower.told()["in git"]
    assert told.startswith(f"1 line changed 30 min later ({by[:7]})")
    assert follower.said() == []


def test_what_another_session_changes_is_no_persons_change(repository: Repository, follower: Follower) -> None:
    first, second = Worker(repository), Worker(repository, SESSION.replace("0f0f", "1e1e"))
    first.write("words.py", PROGRAM)
    first.commit()
    second.repository.write({"words.py": PROGRAM})
    for _ in range(300):
        second.transcript.prompt("And?")
    second.edit("words.py", "split()", "split(None)")
    second.commit("Split")
    follower.grade([second.end(follower.sessions)])
    follower.look(2 * HOUR)
    follower.grade([first.end(follower.sessions)])

    follower.look(3 * HOUR)

    assert follower.fate().rewritten is None


def test_work_that_was_reset_is_on_no_branch_any_more(repository: Repository, follower: Follower) -> None:
    commit = worked(repository, follower)
    follower.look(HOUR)
    repository.git("reset", "--quiet", "--hard", "HEAD~1", at=BEGAN + 2 * HOUR)

    follower.look(7 * HOUR)

    assert follower.told()["in git"].startswith(f"1 commit no longer on any branch ({commit[:7]})")
    assert follower.said() == []


def test_work_that_nobody_committed_is_followed_on_disk(repository: Repository, follower: Follower) -> None:
    worker = Worker(repository)
    worker.write("words.py", PROGRAM)
    follower.grade([worker.end(follower.sessions)])
    follower.look(HOUR)
    (repository.folder / "words.py").unlink()

    follower.look(DAY + HOUR)

    assert follower.told() == {"in git": "0 of 10 lines still there after 1 day"}


def test_lines_that_stood_there_before_are_no_work(repository: Repository, follower: Follower) -> None:
    repository.commit({"words.py": PROGRAM}, "Before", at=BEGAN - DAY)
    worker = Worker(repository)
    worker.write("words.py", PROGRAM + "# Counts words, however they are parted.\n")
    worker.commit()
    follower.grade([worker.end(follower.sessions)])

    follower.look(DAY + HOUR)

    assert follower.told()["in git"].startswith("1 of 1 line still there after 1 day")


def test_files_outside_of_git_are_there_changed_or_gone(
    repository: Repository, follower: Follower, tmp_path: Path
) -> None:
    worker = Worker(repository)
    for name in ("there", "changed", "gone", "never"):
        worker.write(str(tmp_path / "notes" / name), f"Notes on {name}.\n")
    (tmp_path / "notes/never").unlink()
    follower.grade([worker.end(follower.sessions)])
    follower.look(HOUR)
    (tmp_path / "notes/changed").write_text("Other notes.\n")
    (tmp_path / "notes/gone").unlink()

    follower.look(7 * HOUR)

    assert follower.told() == {"other files": "1 still there, 1 changed, 1 gone"}


def test_a_folder_that_the_service_does_not_see_is_told_and_nothing_is_gone(
    repository: Repository, follower: Follower, tmp_path: Path
) -> None:
    worked(repository, follower)
    follower.look(HOUR)
    repository.folder.rename(tmp_path / "hidden")

    follower.look(7 * HOUR)

    assert follower.fate().dropped == ()
    assert follower.told()["not all work checked"] == f"no folder {repository.folder}, or it is hidden from the service"


def test_only_named_folders_are_read(repository: Repository, tmp_path: Path) -> None:
    with closing(Follower(tmp_path / "strict", outcomes_roots=[str(tmp_path / "other")])) as follower:
        worked(repository, follower)

        follower.look(HOUR)

        assert "outside the folders in outcomes_roots" in follower.told()["not all work checked"]


def test_of_a_session_whose_file_is_gone_nothing_is_known(repository: Repository, follower: Follower) -> None:
    worked(repository, follower)
    for path in follower.sessions.rglob("*.jsonl"):
        path.unlink()

    follower.look(HOUR)

    assert follower.told() == {}


def test_a_session_that_went_on_is_read_again(repository: Repository, follower: Follower) -> None:
    worker = Worker(repository)
    worker.write("words.py", PROGRAM)
    follower.grade([worker.end(follower.sessions)])
    follower.look(HOUR)
    worker.transcript.prompt("Commit it.")
    commit = worker.commit()
    follower.grade([worker.end(follower.sessions)])

    follower.look(2 * HOUR)

    assert [each.commit for each in follower.fate().commits] == [commit]


def test_what_belongs_to_no_grade_any_more_is_forgotten(repository: Repository, follower: Follower) -> None:
    worked(repository, follower)
    follower.look(HOUR)
    with follower.store.transaction():
        follower.store.grades.remove(SESSION)

    follower.look(DAY + 2 * HOUR)

    assert OutcomesTable(follower.store).of_session(SESSION) is None


def test_it_waits_until_nothing_is_to_be_graded_and_is_off_in_one_setting(follower: Follower, tmp_path: Path) -> None:
    (busy,) = outcome_jobs(follower.settings, follower.store, is_settled=lambda: False)

    assert not busy.run(BEGAN)
    with closing(Follower(tmp_path / "off", outcomes_git=False)) as off:
        assert outcome_jobs(off.settings, off.store, is_settled=lambda: True) == []


def test_no_text_of_a_session_is_kept(repository: Repository, follower: Follower) -> None:
    worked(repository, follower)
    follower.look(DAY + HOUR)

    (row,) = follower.store.rows("SELECT work || fate FROM session_outcomes")

    assert "words.py" in row[0]
    assert not any(word in row[0] for word in ("import", "count_words", "Count words"))


def test_where_no_ref_moved_nothing_is_read_again(repository: Repository, follower: Follower) -> None:
    worked(repository, follower)
    follower.look(HOUR)
    shutil.rmtree(repository.folder / ".git/objects")

    follower.look(7 * HOUR)
    before = follower.told()
    follower.look(DAY + HOUR)

    assert "not all work checked" not in before
    assert follower.fate().looked_at == BEGAN + DAY + HOUR


def test_a_folder_whose_name_is_no_text_is_followed_as_well(tmp_path: Path, follower: Follower) -> None:
    require_programs("git")
    strange = Repository(tmp_path / os.fsdecode(b"stra\xffnge"), at=BEGAN - DAY)
    (tmp_path / "plain").symlink_to(strange.folder)
    strange.folder = tmp_path / "plain"
    worked(strange, follower)

    follower.look(DAY + HOUR)

    assert "10 of 10 lines still there" in follower.told()["in git"]
