"""The page of changes: what is told of them, since when, and which sessions it leads to."""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import closing
from datetime import datetime, timedelta
from html import unescape
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from grader_daemon.domain.feedback import FeedbackSource, Said
from grader_daemon.domain.grade import Grade
from grader_daemon.domain.installed import InstalledKind, ObservedVersion
from grader_daemon.domain.session_result import EndingKind, ResultStanding
from grader_daemon.domain.setup_changes import SetupChanges
from grader_daemon.pipeline.save_labels import add_feedback
from grader_daemon.pipeline.saving import save_grades
from grader_daemon.skills.agent_setup import Setup
from grader_daemon.skills.store import ObservedVersions
from grader_daemon.storage.sqlite.store import SqliteStore
from tests.conftest import Clock
from tests.strategies import NOW, grade, new_grade

HOUR = timedelta(hours=1)
_FIRST_LOOK = 2000

Sessions = Callable[..., None]
Edited = Callable[..., None]


@pytest.fixture
def sessions(tmp_path: Path) -> Sessions:
    """Keep an hourly stream of sessions up to now, so many by each model, which complete so many of ten."""

    def kept(*models: tuple[str, int], each: int = 100, agent: str | None = "hermes", is_judged: bool = True) -> None:
        made = [
            grade(
                session_id=f"s{number}",
                session_file=f"/s/{number}.json",
                agent=agent,
                model=model,
                task_completed=number % 10 < completed,
                p_completed=None,
                ending=EndingKind.ANSWERED if number % 10 < completed else EndingKind.GAVE_UP,
                standing=ResultStanding.NO_CLAIM,
                ended_at=NOW - (len(models) * each - number) * HOUR,
            )
            for part, (model, completed) in enumerate(models)
            for number in range(part * each, (part + 1) * each)
        ]
        with closing(SqliteStore(tmp_path / "grades.db")) as store, store.transaction():
            save_grades(store, [new_grade(one) for one in made])
            add_feedback(store, [_rewarded(one) for one in made if is_judged], now=NOW)

    return kept


def _rewarded(made: Grade) -> Said:
    return Said(session_id=made.session_id, by="run", source=FeedbackSource.REWARD, completed=made.task_completed)


@pytest.fixture
def edited(tmp_path: Path) -> Edited:
    """Note that a file of an agent was edited so many hours ago, the earliest first."""

    def noted(*hours_ago: float, agent: str | None = "hermes") -> None:
        seen = [
            _version(f"{number:032}", agent, NOW - ago * HOUR) for number, ago in enumerate((_FIRST_LOOK, *hours_ago))
        ]
        with closing(SqliteStore(tmp_path / "grades.db")) as store, store.transaction():
            ObservedVersions(store).save(seen)

    return noted


def _version(digest: str, agent: str | None, at: datetime) -> ObservedVersion:
    return ObservedVersion(
        kind=InstalledKind.CONFIGURATION,
        name="config.yaml",
        agent=agent,
        path="/home/t/.hermes/config.yaml",
        digest=digest,
        bytes=9,
        written_at=at,
        first_seen=at,
        last_seen=at,
    )


def text_of(page: str) -> str:
    return " ".join(unescape(re.sub(r"<[^>]+>", " ", page)).split())


def links(page: str, words: str) -> list[str]:
    """Return where the links with these words lead."""
    return [unescape(found) for found in re.findall(rf'<a href="([^"]+)">{words}</a>', page)]


def test_without_a_change_that_is_said(client: TestClient, sessions: Sessions) -> None:
    sessions(("one", 8), each=40)
    said = text_of(client.get("/changes").text)

    assert "Sessions and files show no changes in this period." in said
    assert "Each line shows" not in said
    assert "40 finished tasks examined, since " in said


def test_a_change_is_told_in_the_words_of_the_command_with_its_interval(client: TestClient, sessions: Sessions) -> None:
    sessions(("strong", 8), ("weak", 4))
    page = client.get("/changes").text

    assert re.search(
        r"worse −40 points \(−\d+ to −\d+\) since the model of hermes changed from strong to weak", text_of(page)
    )
    assert "100 sessions before, 100 since; completion 80 % (" in text_of(page)
    assert page.count('class="strip"') == page.count('class="range"') == 1


def test_what_is_not_sure_says_so(client: TestClient, sessions: Sessions) -> None:
    sessions(("one", 8), ("other", 8))

    assert "not sure No sure difference, 0 points" in text_of(client.get("/changes").text)


def test_a_rise_is_better(client: TestClient, sessions: Sessions) -> None:
    sessions(("weak", 4), ("strong", 8))

    said = text_of(client.get("/changes").text)

    assert "better +40 points" in said
    assert "Each line shows" in said


def test_facts_that_differ_say_so_where_nobody_judged(client: TestClient, sessions: Sessions) -> None:
    sessions(("strong", 8), ("weak", 4), is_judged=False)

    assert "worse Bad endings +40 points (" in text_of(client.get("/changes").text)


def test_too_few_are_said_and_not_drawn(client: TestClient, sessions: Sessions, edited: Edited) -> None:
    sessions(("one", 8))
    edited(12)
    page = client.get("/changes").text

    assert "too few Too few sessions to compare since config.yaml of hermes was edited" in text_of(page)
    assert "30 requests are needed on each side: 18 more since." in text_of(page)
    assert 'class="strip"' not in page


def test_what_differs_all_the_time_is_told(client: TestClient, tmp_path: Path) -> None:
    made = [
        grade(
            session_id=f"s{number}",
            session_file=f"/s/{number}.json",
            agent="hermes",
            system_prompt_digest=f"{number}",
            ended_at=NOW - (number + 1) * HOUR,
        )
        for number in range(40)
    ]
    with closing(SqliteStore(tmp_path / "grades.db")) as store, store.transaction():
        save_grades(store, [new_grade(one) for one in made])

    assert "The system prompt of hermes differs in most sessions (40 in 40)" in text_of(client.get("/changes").text)


def test_links_lead_to_the_sessions_before_and_since(client: TestClient, sessions: Sessions) -> None:
    sessions(("strong", 8), ("weak", 4), each=30)
    page = client.get("/changes").text
    [before], [since] = links(page, "Sessions before"), links(page, "Sessions since")

    of_before, of_since = (set(re.findall(r'data-id="(s\d+)"', client.get(each).text)) for each in (before, since))

    assert of_before == {f"s{number}" for number in range(30)}
    assert of_since == {f"s{number}" for number in range(30, 60)}


def test_a_sure_change_leads_to_one_session_before_beside_one_since(client: TestClient, sessions: Sessions) -> None:
    sessions(("strong", 8), ("weak", 4))
    [twins] = links(client.get("/changes").text, "Compare one before with one since")
    answer = client.get(twins)

    # The model changed with s100, and all sessions are of one type of task: the nearest are those beside it.
    assert (answer.status_code, answer.headers["location"]) == (303, "/compare?id=s99&id=s100&near=same_type")
    assert "Both have the same type of task." in text_of(client.get(answer.headers["location"]).text)


def test_twins_of_a_change_of_models_are_by_these(client: TestClient, sessions: Sessions, tmp_path: Path) -> None:
    sessions(("strong", 8), ("weak", 4))
    [twins] = links(client.get("/changes").text, "Compare one before with one since")
    between = grade(session_id="between", session_file="/b", agent="hermes", model="rare", ended_at=NOW - 100.5 * HOUR)
    with closing(SqliteStore(tmp_path / "grades.db")) as store, store.transaction():
        save_grades(store, [new_grade(between)])

    assert "id=s99&id=s100" in client.get(twins).headers["location"]


def test_a_change_that_is_not_sure_has_no_twins(client: TestClient, sessions: Sessions) -> None:
    sessions(("one", 8), ("other", 8))

    assert links(client.get("/changes").text, "Compare one before with one since") == []


@pytest.mark.parametrize(
    ("query", "status", "said"),
    [
        pytest.param("first=2020-01-01&last=2020-01-01", 404, "no two sessions near this", id="nothing-before"),
        pytest.param("first=then&last=2020-01-01", 400, "until: ", id="no-time"),
        pytest.param("last=2020-01-01", 400, "address of this comparison is incomplete", id="half-of-it"),
        pytest.param("", 400, "address of this comparison is incomplete", id="none-of-it"),
    ],
)
def test_without_twins_that_is_said(
    client: TestClient, sessions: Sessions, *, query: str, status: int, said: str
) -> None:
    sessions(("one", 8), each=3)
    answer = client.get(f"/changes/twins?{query}")

    assert answer.status_code == status
    assert said in answer.text


def test_links_end_where_the_comparison_does(client: TestClient, sessions: Sessions) -> None:
    sessions(("one", 8), ("other", 4), ("third", 8), each=30)
    newer, older = links(client.get("/changes").text, "Sessions since")

    assert "until=" not in newer
    assert len(re.findall(r'data-id="s\d+"', client.get(older).text)) == 30


def test_change_of_no_agent_leads_to_sessions_of_all(client: TestClient, sessions: Sessions, edited: Edited) -> None:
    sessions(("one", 8))
    edited(50, agent=None)
    [since] = links(client.get("/changes").text, "Sessions since")

    assert "agent=" not in since
    assert client.get(since).status_code == 200


def test_change_of_an_agent_without_a_name_has_no_links(client: TestClient, sessions: Sessions) -> None:
    sessions(("one", 8), ("other", 4), agent="")
    page = client.get("/changes").text

    assert "changed from one to other" in text_of(page)
    assert links(page, "Sessions since") == []


def test_only_changes_since_then_are_told(client: TestClient, sessions: Sessions, edited: Edited) -> None:
    sessions(("strong", 8), ("weak", 4))
    edited(50)
    of_two_days, of_three = (client.get(f"/changes?days={days}").text for days in (2, 3))

    assert "show no changes" in of_two_days
    assert "config.yaml" in of_three
    assert "from strong" not in of_three.partition("Also in the compared time")[0]


def test_all_changes_that_there_ever_were_can_be_asked_for(client: TestClient, sessions: Sessions) -> None:
    sessions(("strong", 8), ("weak", 4), each=200)

    assert "changed from strong to weak" not in text_of(client.get("/changes").text)
    assert "changed from strong to weak" in text_of(client.get("/changes?days=all").text)


def test_changes_are_those_of_an_agent_and_of_its_work(client: TestClient, sessions: Sessions) -> None:
    sessions(("strong", 8), ("weak", 4))

    told = "since the model of hermes changed"
    assert told in text_of(client.get("/changes?agent=hermes&kind=main").text)
    assert told not in text_of(client.get("/changes?agent=codex").text)
    assert told not in text_of(client.get("/changes?kind=cron").text)
    by_project = text_of(client.get("/changes?project=/x").text)
    assert told in by_project
    assert "the project filter does not apply here" in by_project


def test_names_are_text(client: TestClient, sessions: Sessions) -> None:
    sessions(("<script>", 8), ("\x1b[31m\u202e", 4), agent='"><i>')
    page = client.get("/changes").text

    assert "<script>" not in page.replace('<script src="', "")
    assert "<i>" not in page
    assert "\x1b" not in page
    assert "&lt;script&gt;" in page


def test_many_changes_are_cut(client: TestClient, sessions: Sessions, edited: Edited) -> None:
    sessions(("one", 8), each=1100)
    edited(*range(1045, 24, -20))
    page = client.get("/changes?days=90").text

    assert page.count('class="panel change"') == 50
    assert "2 earlier changes are not shown" in text_of(page)


def test_changes_are_looked_for_once_a_minute(
    client: TestClient, sessions: Sessions, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    sessions(("one", 8), each=1)
    asked: list[timedelta | datetime] = []
    changes = Setup.changes

    def noted(setup: Setup, since: timedelta | datetime) -> SetupChanges:
        asked.append(since)
        return changes(setup, since)

    monkeypatch.setattr(Setup, "changes", noted)
    for seconds in (0, 59, 1):
        clock.now += timedelta(seconds=seconds)
        client.get("/changes?since=7d")

    assert asked == [timedelta(days=7)] * 2
