"""The tasks of `docs/dashboard.md`: how many clicks and keys each takes, and that its answer is on the screen then."""

from __future__ import annotations

import re
import shutil
import time
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from grader_daemon.api.grader import SelfGrader
from grader_daemon.domain.claims import Support
from grader_daemon.domain.session_result import EndingKind
from grader_daemon.messages.job import message_jobs
from grader_daemon.settings import Settings, load_settings
from grader_daemon.storage.records import GradeFilter
from tests.demo_home import DATABASE
from tests.pages.conftest import signed_in
from tests.pages.hands import Hands, see
from tests.pages.served import AT, Served, keep_reports_and_an_alert, serve
from tests.pages.task_home import FAILED_CALLS, LONG, SESSIONS, TICKET, TICKETS, write_task_files
from tests.pictures import Home
from tests.transcripts import Transcript

_FIRST_GRADES_MS = 30_000
"""So long the first grades of a home may take: they are seen after 3 s on a machine without other load."""
YESTERDAY = f"{AT - timedelta(days=1):%Y-%m-%d}"


@pytest.fixture(scope="module")
def task_home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home of somebody who works with Claude Code and had a look before; nobody changes it."""
    home = tmp_path_factory.mktemp("tasks")
    write_task_files(home)
    commands = Home(home, at=AT)
    commands.run("config", "set", "message_search_days", "92")
    commands.run("sources", "enable", "claude-code")
    commands.run("run", "--once")
    _index_messages(home)
    keep_reports_and_an_alert(home)
    return home


@pytest.fixture(scope="module")
def served(task_home: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """The page of a copy of it, in which one session is labelled and one more is written."""
    home = tmp_path_factory.mktemp("copy") / "home"
    shutil.copytree(task_home, home)
    with serve(home) as served:
        yield served


@pytest.fixture
def hands(browser: Browser, served: Served) -> Iterator[Hands]:
    """Somebody who has just opened the first page."""
    for tab in signed_in(browser, served):
        tab.context.grant_permissions(["clipboard-read", "clipboard-write"])
        yield Hands(tab)


@pytest.fixture(scope="module")
def ids(task_home: Path) -> dict[str, str]:
    """Sessions of the home: one that lied, one that gave up, the long one."""
    with SelfGrader(db_path=task_home / DATABASE) as grader:
        every = grader.grades.every
        lied = next(iter(every(GradeFilter(claim=Support.CONTRADICTED))))
        gave_up = next(iter(every(GradeFilter(ending=EndingKind.GAVE_UP))))
        long = next(iter(every(GradeFilter(text=LONG))))
    return {"lied": lied.grade.session_id, "gave up": gave_up.grade.session_id, "long": long.grade.session_id}


def test_whether_all_is_right_is_seen_at_once(hands: Hands) -> None:
    shares = hands.tab.locator(".figures .panel").first
    see(hands.tab.get_by_role("heading", level=1), hands.tab.locator(".need").first, shares)

    expect(shares.locator(".value")).to_have_text(re.compile(r"\d+ done, \d+ not done, \d+ unsure"))
    assert hands.used == 0


def test_failed_session_of_yesterday_is_a_click_away(hands: Hands) -> None:
    hands.click(hands.tab.locator(f'.chart a[href*="since={YESTERDAY}"]'))

    see(hands.tab.locator("tr", has=hands.tab.locator(".verdict.not_done")).first)
    assert hands.used == 1


@pytest.mark.parametrize("which", ["lied", "gave up"])
def test_why_it_failed_is_on_the_first_screen_of_a_session(hands: Hands, ids: dict[str, str], which: str) -> None:
    hands.tab.goto(f"/session/{ids[which]}")

    see(hands.tab.locator(".story .turning-point"))
    if which == "lied":
        see(hands.tab.locator(".claims q").first, hands.tab.locator(".claims pre").first)
    assert hands.used == 0


def test_text_is_found_in_all_sessions_with_their_verdicts(hands: Hands) -> None:
    hands.press("Control+k")
    hands.type(TICKET)

    found = hands.tab.get_by_role("option").filter(has_text=f"belongs to {TICKET}")
    expect(found).to_have_count(TICKETS)
    see(*found.all())
    for said in found.locator(".small").all_inner_texts():
        assert re.fullmatch(r"message, (done|not done|unsure)", said)
    assert hands.used == 2


def test_cost_by_day_and_model_and_by_project_is_a_click_away(hands: Hands) -> None:
    hands.click(hands.tab.get_by_role("link", name="Usage"))
    see(
        hands.tab.get_by_role("heading", name="Cost by day and model"),
        hands.tab.get_by_role("group", name="Cost by day"),
    )
    projects = hands.tab.locator(".beside li")
    see(
        hands.tab.locator("table.groups tr", has_text="claude-opus-4-5"),
        hands.tab.get_by_role("heading", name="Cost by project"),
        *projects.all(),
    )
    expect(projects).to_have_count(5)
    expect(projects.first).to_have_text(re.compile(r"billing \$\d+\.\d\d \d+ %"))
    assert hands.used == 1


def test_tokens_by_day_are_a_click_away(hands: Hands) -> None:
    hands.click(hands.tab.get_by_role("link", name="Usage"))

    see(
        hands.tab.get_by_role("heading", name="Tokens", exact=True).last,
        hands.tab.get_by_role("group", name="Tokens by day"),
    )
    assert hands.used == 1


def test_long_session_is_searched_and_its_failures_alone_are_read(hands: Hands, ids: dict[str, str]) -> None:
    hands.tab.goto(f"/session/{ids['long']}")
    hands.press("/")
    hands.type("revision")

    answer = hands.tab.locator(".said", has_text="drops owner before")
    see(
        hands.tab.get_by_text("1 of 171 messages with these words"),
        answer.locator("table"),
        answer.locator("pre[data-language=python]"),
    )
    assert hands.used == 2
    hands.tab.goto(f"/session/{ids['long']}")
    hands.press("f")
    expect(hands.tab.locator(".said")).to_have_count(FAILED_CALLS)
    assert hands.used == 3


def test_list_that_is_shown_is_exported_by_a_click(hands: Hands) -> None:
    hands.tab.goto("/sessions?verdict=not_done")
    with hands.tab.expect_download() as coming:
        hands.click(hands.tab.get_by_role("link", name="CSV", exact=True))

    lines = coming.value.path().read_text("utf-8").splitlines()
    shown = hands.tab.locator("table.sessions tbody tr").first.get_attribute("data-id")
    assert str(shown) in lines[1]
    assert hands.used == 1


def test_somebody_is_told_by_a_click(hands: Hands, ids: dict[str, str], served: Served) -> None:
    hands.tab.goto(f"/session/{ids['lied']}")
    hands.click(hands.tab.get_by_role("link", name="Copy as bug report"))

    see(hands.tab.get_by_role("link", name="Copied"))
    copied = hands.tab.evaluate("navigator.clipboard.readText()")
    assert "12 tests pass" in copied
    assert "pytest -q" in copied
    assert served.token not in copied
    assert hands.used == 1


def test_whether_the_new_model_helped_is_a_click_away_and_twins_one_more(hands: Hands) -> None:
    hands.click(hands.tab.get_by_role("link", name="what changed"))
    change = hands.tab.locator(".change", has_text="claude-opus-4-5")
    see(change.get_by_role("heading"), change.get_by_text("better", exact=True))
    assert hands.used == 1
    hands.click(change.get_by_role("link", name="Compare one before with one since"))

    see(hands.tab.get_by_role("heading", level=1))
    sides = hands.tab.get_by_role("columnheader").filter(has=hands.tab.locator("code"))
    expect(sides).to_have_count(2)
    see(*sides.all())
    assert hands.used == 2


def test_what_got_worse_is_seen_at_once(hands: Hands) -> None:
    card = hands.tab.locator(".need", has_text="Got worse")

    see(card, card.locator("svg").first)
    assert hands.used == 0


def test_session_moves_within_a_second_while_it_is_watched(hands: Hands, served: Served) -> None:
    path = served.home / SESSIONS / "-home-you-work-shop" / "00000000-1111-4222-8333-444455556666.jsonl"
    running = Transcript(cwd="/home/you/work/shop", sessionId=path.stem)
    running.prompt("Watch the lighthouse")
    running.answer("I look.", stop="tool_use")
    running.write(path)
    _grade(served.home)
    hands.tab.goto(f"/session/{path.stem}")
    expect(hands.tab.locator(".live")).to_have_attribute("data-live-state", "on")
    bars, said = hands.tab.locator(".map"), hands.tab.locator(".said")
    expect(said).to_have_count(2)
    running.answer("The lamp is lit, done.")
    running.write(path)
    _grade(served.home)
    graded = time.monotonic()

    expect(said).to_have_count(3, timeout=1000)
    assert time.monotonic() - graded < 1
    expect(bars).to_have_attribute("data-messages", "3")
    assert hands.used == 0


def test_grader_is_corrected_by_a_key_and_says_what_that_did(hands: Hands) -> None:
    hands.click(hands.tab.get_by_role("link", name="Review").first)
    assert hands.used == 1
    hands.press("n")

    see(hands.tab.get_by_text("The grader says:"), hands.tab.get_by_text("Your answer:"))
    assert hands.used == 2


def test_first_look_names_the_agents_and_grades_their_sessions_by_a_click(browser: Browser, tmp_path: Path) -> None:
    sessions = write_task_files(tmp_path)
    with serve(tmp_path) as served:
        for tab in signed_in(browser, served):
            hands = Hands(tab)
            see(tab.get_by_text(f"Claude Code has {sessions} sessions"))
            assert not re.search(r"\$0|\b0 sessions", tab.inner_text("body"))
            hands.click(tab.get_by_role("button", name="Grade these"))

            expect(tab.get_by_text("Grading existing sessions")).to_be_visible(timeout=_FIRST_GRADES_MS)
            expect(tab.locator("tr[data-id]").first).to_be_visible(timeout=_FIRST_GRADES_MS)
            assert hands.used == 1


def _settings(home: Path) -> Settings:
    return load_settings(
        db_path=home / DATABASE,
        watch_roots=(home,),
        claude_code_roots=(home / SESSIONS,),
        sources=("claude-code",),
        message_search_days=92,
    )


def _grade(home: Path) -> None:
    """Grade what is new, as the daemon does."""
    with SelfGrader(settings=_settings(home)) as grader:
        grader.grade_latest_sessions()


def _index_messages(home: Path) -> None:
    """Index all messages, as a daemon that ran all the time would have."""
    now, settings = AT, _settings(home)
    with SelfGrader(settings=settings) as grader:
        (job,) = message_jobs(settings, grader.context.writable, is_settled=lambda: True)
        while job.run(now):
            now += timedelta(hours=1)
