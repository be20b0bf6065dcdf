"""What people are shown of a scorer of quality: `show`, `status`, `doctor`, and `SelfGrader.check_quality`."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from grader_daemon import Grade, QualityScorer, ScorerError, ScorerUnavailableError, SelfGrader, Session
from grader_daemon.api.doctor.all_checks import CHECKS
from grader_daemon.domain.quality import CheckOutcome
from grader_daemon.errors import InputError
from grader_daemon.settings import load_settings
from grader_daemon.storage.sqlite.store import SqliteStore
from tests.e2e.session_files import now, turns, write_ended
from tests.unit.cli.conftest import Run

DATABASE = Path(".timmy/uniwizard/session_grades.db")
SCORER = "m at 127.0.0.1:9"


class Friend:
    def __init__(self, *answers: float | Exception) -> None:
        self.answers = list(answers)

    def validate(self, session: Session, grade: Grade) -> float:
        assert session.session_id == grade.session_id
        said = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if isinstance(said, Exception):
            raise said
        return said


@pytest.fixture(autouse=True)
def naps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tenacity.nap.time", SimpleNamespace(sleep=lambda _: None))


@pytest.fixture
def graded(home: Path) -> Iterator[SelfGrader]:
    """A home with three finished sessions that are graded."""
    sessions = home / ".timmy" / "sessions"
    for number in range(3):
        write_ended(sessions, f"s{number}", now() - timedelta(hours=2 + number), turns(1, task=f"Fix parser {number}"))
    settings = load_settings(db_path=home / DATABASE, watch_roots=(home / ".timmy",))
    with SelfGrader(settings=settings) as grader:
        grader.grade_latest_sessions(n=3)
        yield grader


def configure(home: Path, **settings: object) -> None:
    folder = home / ".config" / "grader-daemon"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.toml").write_text("".join(f"{name} = {json.dumps(value)}\n" for name, value in settings.items()))


def with_judge(home: Path, *, calls: int = 20) -> None:
    configure(home, quality_judge_url="http://127.0.0.1:9/v1", quality_judge_model="m", quality_checks_per_day=calls)


def note(home: Path, session_id: str, outcome: CheckOutcome, *, quality: float = 5.0, ours: int = 3) -> None:
    """A call of the scorer that is set, a moment ago."""
    store = SqliteStore(home / DATABASE)
    with store.transaction():
        digest = store.rows("SELECT digest FROM session_details WHERE session_id = ?", (session_id,))[0][0]
        number = store.quality.begin(
            session_id,
            scorer=SCORER,
            digest=digest,
            ours=ours,
            now=now(),
            budgeted=True,
        )
        if outcome is CheckOutcome.ANSWERED:
            store.quality.answered(number, quality)
        elif outcome is not CheckOutcome.ASKED:
            store.quality.failed(number, "it answered 503", outcome)
    store.close()


def doctor(run: Run, home: Path) -> dict[str, Any]:
    made = {check["name"]: check for check in json.loads(run(home, "doctor", "--json").stdout)["checks"]}
    assert list(made) == list(CHECKS)
    return dict(made["quality scorer"])


# -- show and status -----------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("graded")
def test_a_session_that_nobody_was_asked_about_shows_nothing(run: Run, home: Path) -> None:
    assert "  checked" not in run(home, "show", "s1").stdout
    assert json.loads(run(home, "show", "s1", "--json").stdout)["quality_check"] is None


@pytest.mark.usefixtures("graded")
def test_a_session_shows_what_the_scorer_said(run: Run, home: Path) -> None:
    note(home, "s1", CheckOutcome.ANSWERED, quality=4.5, ours=3)

    assert f"4.5 of 5 by {SCORER}, " in run(home, "show", "s1").stdout
    assert "1.5 away from the grade then, 3" in run(home, "show", "s1").stdout
    check = json.loads(run(home, "show", "s1", "--json").stdout)["quality_check"]
    assert (check["quality"], check["ours"], check["discrepancy"], check["outcome"]) == (4.5, 3, 1.5, "answered")


@pytest.mark.usefixtures("graded")
def test_a_session_shows_why_the_scorer_said_nothing(run: Run, home: Path) -> None:
    note(home, "s1", CheckOutcome.NO_ANSWER)

    assert "no answer, " in run(home, "show", "s1").stdout
    assert "it answered 503" in run(home, "show", "s1").stdout


@pytest.mark.usefixtures("graded")
def test_status_says_nothing_of_a_scorer_that_is_not_asked(run: Run, home: Path) -> None:
    assert "quality checks" not in run(home, "status").stdout
    with_judge(home, calls=0)
    assert "quality checks" not in run(home, "status").stdout
    assert json.loads(run(home, "status", "--json").stdout)["quality"] is None


def test_status_says_how_many_calls_were_made_and_who_disagrees(run: Run, home: Path, graded: SelfGrader) -> None:
    with_judge(home)
    assert f"0 of 20 today by {SCORER}\n" in run(home, "status").stdout
    ours = graded.grades.find("s1").grade.response_quality
    note(home, "s1", CheckOutcome.ANSWERED, quality=5.0 if ours < 4 else 1.0)
    note(home, "s2", CheckOutcome.ANSWERED, quality=float(ours))

    assert f"2 of 20 today by {SCORER}; 1 disagree with the grade: grader-daemon label\n" in run(home, "status").stdout
    quality = json.loads(run(home, "status", "--json").stdout)["quality"]
    assert (quality["calls"], quality["disagreeing"], quality["error"]) == (2, 1, None)


@pytest.mark.usefixtures("graded")
def test_status_says_that_the_scorer_cannot_be_reached(run: Run, home: Path) -> None:
    with_judge(home)
    note(home, "s1", CheckOutcome.UNAVAILABLE)

    assert "; the last call without an answer: it answered 503\n" in run(home, "status").stdout


# -- doctor --------------------------------------------------------------------------------------------------------


def test_no_scorer_is_fine(run: Run, home: Path) -> None:
    assert doctor(run, home)["found"] == "no scorer is set: no session leaves this machine"


def test_a_scorer_that_is_never_asked_is_fine_and_told(run: Run, home: Path) -> None:
    with_judge(home, calls=0)

    assert doctor(run, home)["found"] == f"{SCORER} is set, and never asked: quality_checks_per_day is 0"


def test_a_scorer_before_its_first_call_is_fine(run: Run, home: Path) -> None:
    with_judge(home)

    assert doctor(run, home)["found"] == f"{SCORER} was not asked yet"


@pytest.mark.usefixtures("graded")
@pytest.mark.parametrize(
    ("calls", "state", "words"),
    [
        pytest.param([CheckOutcome.ANSWERED], "ok", "was asked", id="answers"),
        pytest.param([CheckOutcome.UNAVAILABLE, CheckOutcome.ANSWERED], "ok", "was asked", id="answers-again"),
        pytest.param([CheckOutcome.ANSWERED, CheckOutcome.UNAVAILABLE], "warning", "503", id="is-away"),
        pytest.param([CheckOutcome.NO_ANSWER] * 4, "ok", "was asked", id="is-mute-by-accident"),
        pytest.param([CheckOutcome.NO_ANSWER] * 5, "warning", "last 5 calls had no answer", id="is-mute"),
    ],
)
def test_what_the_scorer_said_last_tells_how_it_is(
    run: Run, home: Path, calls: list[CheckOutcome], state: str, words: str
) -> None:
    with_judge(home)
    for outcome in calls:
        note(home, "s1", outcome)

    made = doctor(run, home)

    assert (made["state"], words in made["found"]) == (state, True)
    assert bool(made["fix"]) == (state == "warning")


# -- Python --------------------------------------------------------------------------------------------------------


def test_a_scorer_of_ones_own_is_asked_about_sessions_drawn_at_random(graded: SelfGrader) -> None:
    scorer: QualityScorer = Friend(4.0)

    first = graded.review.check_quality(scorer, n=2)
    rest = graded.review.check_quality(scorer)

    assert [(check.scorer, check.quality) for check in first + rest] == [("Friend", 4.0)] * 3
    assert {check.session_id for check in first + rest} == {"s0", "s1", "s2"}
    assert graded.grades.quality_check("s1") in first + rest


def test_one_without_an_answer_stops_no_other(graded: SelfGrader) -> None:
    checks = graded.review.check_quality(Friend(ScorerError("it is about poetry"), 3.0))

    assert sorted(check.quality or 0 for check in checks) == [0, 3.0, 3.0]
    assert [check.error for check in checks if check.quality is None] == ["it is about poetry"]


def test_one_that_is_down_is_told(graded: SelfGrader) -> None:
    with pytest.raises(ScorerUnavailableError, match="gone fishing"):
        graded.review.check_quality(Friend(3.0, ScorerUnavailableError("gone fishing")))

    assert len([check for check in map(graded.grades.quality_check, ("s0", "s1", "s2")) if check is not None]) == 2


def test_a_bug_of_a_scorer_is_its_owners(graded: SelfGrader) -> None:
    with pytest.raises(ZeroDivisionError):
        graded.review.check_quality(Friend(ZeroDivisionError()))


def test_without_a_scorer_there_is_nobody_to_ask(graded: SelfGrader) -> None:
    with pytest.raises(InputError, match="quality_command"):
        graded.review.check_quality()


@pytest.mark.usefixtures("graded")
def test_the_scorer_that_is_set_can_be_asked_at_once(home: Path) -> None:
    command = (sys.executable, "-S", "-c", "print(2)")
    settings = load_settings(
        db_path=home / DATABASE, watch_roots=(home / ".timmy",), quality_command=command, quality_checks_per_day=1
    )
    with SelfGrader(settings=settings) as grader:
        checks = grader.review.check_quality(n=2)
        status = grader.status().quality

    assert [check.quality for check in checks] == [2.0, 2.0]
    assert status is not None
    assert (status.calls, status.calls_per_day) == (2, 1)
