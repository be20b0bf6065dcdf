from __future__ import annotations

import pytest

from grader_daemon.analysis.job_identity import job_of
from grader_daemon.domain.analysis import Job
from grader_daemon.domain.session import SessionKind
from grader_daemon.redaction import redactor_of
from grader_daemon.rules import load_rules
from tests.strategies import answer, session, user
from tests.timing import is_done_within

RULES = load_rules()
REDACTOR = redactor_of(RULES.redaction)
HINT = '[IMPORTANT: You are running as a scheduled cron job. Say "[SILENT]" if nothing is new, and nothing more.]\n\n'


def job(told: str, **changes: object) -> Job | None:
    changes = {"kind": SessionKind.CRON, **changes}
    return job_of(session(user(told), answer("Done."), **changes), RULES.people, REDACTOR)


def test_the_id_of_the_schedule_says_which_job_it_is() -> None:
    found, renamed = job("Check the backups", schedule="a1b2"), job("Check all backups", schedule="a1b2")
    assert found == Job("a1b2", "Check the backups")
    assert renamed == Job("a1b2", "Check all backups")


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        pytest.param("Back up 2026-11-25 now", "Back up 2026-11-26 now", True, id="a-date"),
        pytest.param("Report of Monday, Nov 3: mails", "Report of Tuesday, Dec 4: mails", True, id="names-of-days"),
        pytest.param("Check run #17, please", "check run #18 please!", True, id="a-number-and-case"),
        pytest.param("Check the backups", "Check the mails", False, id="another-task"),
        pytest.param("Sum up this: " + "x " * 300 + "old", "Sum up this: " + "x " * 300 + "new", True, id="far-behind"),
    ],
)
def test_without_one_the_words_say_it_but_for_numbers_and_dates(one: str, other: str, *, same: bool) -> None:
    first, second = job(one), job(other)
    assert first is not None
    assert second is not None
    assert (first.key == second.key) == same


def test_a_paragraph_of_the_agent_in_front_is_no_part_of_the_task() -> None:
    found = job(f"{HINT}[SYSTEM: A skill is loaded.]\n\nCheck the backups")
    bare = job("Check the backups")
    assert found == bare
    assert found is not None
    assert found.name == "Check the backups"


@pytest.mark.parametrize("told", ["[SYSTEM: Check the backups]", "[SYSTEM: Check] the\n\nbackups"])
def test_what_is_nothing_but_such_a_paragraph_is_the_task(told: str) -> None:
    found = job(told)
    assert found is not None
    assert found.name == " ".join(told.split())


def test_a_name_shows_no_secret_and_is_one_line() -> None:
    found = job("Push with ghp_0123456789abcdefghijklmnopqrstuvwxyzAB\nto the\tmirror " + "x" * 200)
    assert found is not None
    assert "ghp_0123456789" not in found.name
    assert found.name.isprintable()
    assert len(found.name) <= 80


def test_a_long_id_of_a_schedule_has_a_short_key() -> None:
    found = job("Check", schedule="s" * 200)
    assert found is not None
    assert len(found.key) == 12


@pytest.mark.parametrize(
    ("told", "changes"),
    [
        pytest.param("Check the backups", {"kind": None}, id="of-a-person"),
        pytest.param("Check the backups", {"kind": SessionKind.SUB_AGENT}, id="of-an-agent"),
        pytest.param("2026-11-25 17:00", {}, id="no-words"),
    ],
)
def test_other_sessions_are_of_no_job(told: str, changes: dict[str, object]) -> None:
    assert job(told, **changes) is None


def test_a_job_that_is_told_nothing_has_its_key_for_a_name() -> None:
    assert job("", schedule="a1b2") == Job("a1b2", "a1b2")


def test_a_prompt_of_any_size_is_read_at_once() -> None:
    assert is_done_within(1, lambda: job("[SYSTEM: x]\n\n" * 20_000 + "1" * 3_000_000))
