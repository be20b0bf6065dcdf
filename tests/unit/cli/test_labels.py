"""``label`` as a person uses it, of a session and one by one."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, Protocol

import msgspec
import pytest

from grader_daemon import SelfGrader
from grader_daemon.domain.claims import Claim, ClaimKind, Support
from grader_daemon.domain.feedback import Candidate, FeedbackSource, Sampling
from grader_daemon.domain.people import PersonSignal, SignalKind
from grader_daemon.errors import InputError
from grader_daemon.storage.sqlite.store import SqliteStore
from tests.e2e.session_files import failing, now, turns, write
from tests.strategies import json_answer, json_round, json_user
from tests.unit.cli.conftest import Ended, Run

DATABASE = Path(".timmy/uniwizard/session_grades.db")
FINE, FAILED, SECOND = "20261121_100000_aaaaaa", "20261121_100000_bbbbbb", "20261121_100000_cccccc"
SECRET = "sk-" + "A1b2C3d4" * 6
HOSTILE = "\x1b[31m\u202e\x9b31m\x07"


def database_of(grader: SelfGrader) -> SqliteStore:
    store = grader.context.writable
    assert isinstance(store, SqliteStore)
    return store


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A home with three graded sessions that ended just now."""
    sessions = tmp_path / ".timmy" / "hermes" / "sessions"
    write(sessions, FINE, turns(2, task="Fix the parser"))
    write(sessions, FAILED, failing(3))
    write(sessions, SECOND, turns(1, task="Write the docs", answer=f"Done {HOSTILE} with {SECRET}."))
    with SelfGrader(db_path=tmp_path / DATABASE, watch_roots=[tmp_path / ".timmy"]) as grader:
        grader.grade_latest_sessions()
    return tmp_path


@pytest.fixture
def grader(home: Path) -> Iterator[SelfGrader]:
    with SelfGrader(db_path=home / DATABASE, watch_roots=[home / ".timmy"]) as opened:
        yield opened


@pytest.fixture(autouse=True)
def name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOGNAME", "timmy")


def rows(home: Path) -> list[Any]:
    with closing(SqliteStore(home / DATABASE, read_only=True)) as store:
        return store.rows("SELECT session_id, completed, quality, source, sampled, withdraws FROM feedback ORDER BY id")


def test_a_note_is_kept_as_one_line_without_secrets(home: Path, run: Run) -> None:
    note = f"it printed {SECRET}\n  and then {HOSTILE}"
    (home / "labels.csv").write_text(f'session_id,completed,note\n{FINE},no,"{note}"\n', encoding="utf-8")

    assert run(home, "label", "--csv", "labels.csv").stdout == "1 added, 0 as before, 0 unknown.\n"
    assert run(home, "label", "--csv", "labels.csv").stdout == "0 added, 1 as before, 0 unknown.\n"
    run(home, "label", FAILED, "--completed", "no", "--note", note)

    with closing(SqliteStore(home / DATABASE, read_only=True)) as store:
        kept = {row[0] for row in store.rows("SELECT note FROM feedback")}
    [said] = kept
    assert said.startswith("it printed [redacted] and then ")
    assert said.isprintable()


def document(ended: Ended) -> dict[str, Any]:
    found = json.loads(ended.stdout)
    assert isinstance(found, dict)
    assert found["schema_version"] == 1
    return found


# -- label -------------------------------------------------------------------------------------------------------------


def test_a_label_is_kept_and_shown_wherever_the_verdict_is(run: Run, home: Path) -> None:
    ended = run(home, "label", FINE[:-3], "--completed", "no", "--quality", "2", "--note", "wrong file")

    assert ended.returncode == 0
    assert f"{FINE}: not done, quality 2 of 5, note: wrong file (by timmy on " in ended.stdout
    assert "Before: unsure (46 % likely done); quality 3 of 5." in ended.stdout
    listed = run(home, "list").stdout
    assert [line.split()[3:5] for line in listed.splitlines() if line.startswith(FINE)] == [["not", "done*"]]
    assert "* label by a person" in listed
    shown = run(home, "show", FINE).stdout
    assert "not done (labelled by timmy on " in shown
    assert "). The grader said: unsure (" in shown
    assert "2 of 5 (labelled by timmy on " in shown
    assert "wrong file" in shown
    assert "task_completed = not done (labelled by timmy on " in run(home, "why", FINE).stdout
    shown_grade = document(run(home, "show", FINE, "--json"))["grade"]
    assert (shown_grade["verdict_by"], shown_grade["automatic_completed"]) == ("person", True)
    assert FINE in run(home, "list", "--not-completed").stdout
    assert FINE not in run(home, "list", "--completed").stdout


@pytest.mark.parametrize("is_gone", [True, False])
def test_a_session_that_is_gone_keeps_its_grade_and_says_so(run: Run, home: Path, *, is_gone: bool) -> None:
    [path] = home.rglob(f"session_{FINE}.json")
    if is_gone:
        path.unlink()

    shown = run(home, "show", FINE)

    assert (shown.returncode, FINE in shown.stdout) == (0, True)
    assert ("The session's file is gone; its grade stays." in shown.stdout) == is_gone
    assert json.loads(run(home, "show", FINE, "--json").stdout)["is_gone"] is is_gone


def test_a_verdict_on_which_no_rule_spoke_is_shown_by_why(run: Run, home: Path, grader: SelfGrader) -> None:
    store = database_of(grader)
    with store.transaction():
        store.connection.execute("UPDATE session_details SET reasons = '[]'")
    run(home, "label", FINE, "--quality", "1")

    said = run(home, "why", FINE).stdout

    assert "response_quality = 1 (labelled by timmy on " in said
    assert "task_completed" not in said


def test_a_label_of_a_session_that_went_on_says_so(run: Run, home: Path, grader: SelfGrader) -> None:
    run(home, "label", FINE, "--completed", "no")
    file = write(home / ".timmy" / "hermes" / "sessions", FINE, turns(5, task="Fix the parser"))

    grader.grade_session_file(file)

    assert "before the session continued). The grader said: unsure (" in run(home, "show", FINE).stdout
    assert "label; the session continued later" in run(home, "label", "--list").stdout


def test_an_undo_takes_back_one_label_at_a_time(run: Run, home: Path) -> None:
    run(home, "label", FINE, "--completed", "no")
    run(home, "label", FINE, "--quality", "1")

    first = run(home, "label", FINE, "--undo")
    assert f"{FINE}: withdrawn: quality 1 of 5 (by timmy" in first.stdout
    assert "not done*" in run(home, "list").stdout
    second = run(home, "label", FINE, "--undo", "--json")
    assert document(second)["taken_back"]["completed"] is False
    assert "*" not in run(home, "list").stdout
    third = run(home, "label", FINE, "--undo")
    assert third.returncode == 2
    assert "has no label to undo" in third.stderr


def test_labels_are_listed(run: Run, home: Path) -> None:
    assert "No labels yet" in run(home, "label", "--list").stdout
    run(home, "label", FINE, "--completed", "no", "--note", f"bad{HOSTILE}")

    text = run(home, "label", "--list").stdout
    [label] = document(run(home, "label", "--list", "--json"))["labels"]

    assert text.splitlines()[1].split()[:5] == [FINE, "no", "-", "yes", "timmy"]
    assert not set(HOSTILE) & set(text.replace("\n", "")) - set("[31m")
    assert (label["session_id"], label["completed"], label["source"]) == (FINE, False, "label")
    assert not {"features", "request"} & set(label)


@pytest.mark.parametrize(
    "arguments",
    [
        pytest.param([FINE], id="nothing-said"),
        pytest.param(["--completed", "yes"], id="of-no-session"),
        pytest.param([FINE, "--undo", "--completed", "yes"], id="two-things-at-once"),
        pytest.param([FINE, "--list"], id="a-list-of-one"),
        pytest.param([FINE, "--csv", "labels.csv"], id="a-file-of-one"),
        pytest.param(["--undo"], id="undo-of-nothing"),
        pytest.param([FINE, "--completed", "maybe"], id="maybe"),
        pytest.param([FINE, "--quality", "6"], id="six-of-five"),
        pytest.param([FINE, "--note", "hm"], id="only-a-note"),
        pytest.param(["nobody", "--completed", "yes"], id="no-such-session"),
        pytest.param(["20261121", "--completed", "yes"], id="several-sessions"),
        pytest.param(["--csv", "absent.csv"], id="no-such-file"),
        pytest.param([FINE, "-n", "3"], id="one-by-one-of-a-session"),
        pytest.param(["--list", "-n", "3"], id="one-by-one-and-a-list"),
        pytest.param(["--json"], id="one-by-one-for-a-program"),
    ],
)
def test_wrong_usage_changes_nothing(run: Run, home: Path, arguments: list[str]) -> None:
    ended = run(home, "label", *arguments)

    assert ended.returncode == 2
    assert ended.stdout == ""
    assert "Traceback" not in ended.stderr
    assert rows(home) == []


# -- files of labels ---------------------------------------------------------------------------------------------------


def test_a_file_is_taken_whole_and_only_once(run: Run, home: Path) -> None:
    (home / "labels.csv").write_text(f"session_id,success,quality\n{FINE},0,2\n{FAILED},0,\nnobody,1,\n")

    first = run(home, "label", "--csv", "labels.csv")
    second = run(home, "label", "--csv", "labels.csv", "--json")

    assert (first.returncode, second.returncode) == (1, 1)
    assert first.stdout == "2 added, 0 as before, 1 unknown.\n"
    assert first.stderr == "no grade of session nobody\n"
    taken = document(second)
    assert (taken["added"], taken["same"], taken["unknown"], taken["wrong"]) == (0, 2, ["nobody"], [])
    assert rows(home) == [(FINE, 0, 2, "csv", None, None), (FAILED, 0, None, "csv", None, None)]


def test_only_what_is_new_in_a_file_is_added(run: Run, home: Path) -> None:
    run(home, "label", FINE, "--completed", "no")
    (home / "labels.csv").write_text(f"session_id,completed,quality\n{FINE},no,\n{FAILED},no,1\n")
    assert run(home, "label", "--csv", "labels.csv").stdout == "1 added, 1 as before, 0 unknown.\n"

    (home / "labels.csv").write_text(f"session_id,completed,note\n{FINE},yes,\n{FAILED},no,why\n")
    ended = run(home, "label", "--csv", "labels.csv")

    assert ended.returncode == 0
    assert ended.stdout == "2 added, 0 as before, 0 unknown.\n"


def test_a_session_that_went_on_is_labelled_again(run: Run, home: Path, grader: SelfGrader) -> None:
    (home / "labels.csv").write_text(f"session_id,completed\n{FINE},no\n")
    run(home, "label", "--csv", "labels.csv")
    grader.grade_session_file(write(home / ".timmy" / "hermes" / "sessions", FINE, turns(5, task="Fix the parser")))

    assert run(home, "label", "--csv", "labels.csv").stdout.startswith("1 added")
    assert not grader.labels.standing()[0].went_on


def test_of_a_wrong_file_nothing_is_taken(run: Run, home: Path) -> None:
    (home / "labels.csv").write_text(f"session_id,completed\n{FINE},no\n{FAILED},maybe\n{SECOND}\n")

    ended = run(home, "label", "--csv", "labels.csv")

    assert ended.returncode == 2
    assert ended.stdout == ""
    assert [line.partition(":")[0] for line in ended.stderr.splitlines()] == [
        "labels.csv, line 3",
        "labels.csv, line 4",
        "Nothing was added.",
    ]
    assert rows(home) == []


def test_many_labels_are_one_transaction(run: Run, home: Path) -> None:
    names = [f"s{number:04}" for number in range(2500)]
    (home / "labels.csv").write_text(
        "session_id,completed\n" + "".join(f"{name},1\n" for name in names) + f"{FINE},0\n"
    )

    ended = run(home, "label", "--csv", "labels.csv")

    assert ended.stdout == "1 added, 0 as before, 2,500 unknown.\n"
    assert len(ended.stderr.splitlines()) == 11
    assert ended.stderr.endswith("and of 2,490 more\n")


# -- what labels are good for ------------------------------------------------------------------------------------------


def test_random_reviews_check_the_rate_of_the_summary(run: Run, home: Path, grader: SelfGrader) -> None:
    sessions = home / ".timmy" / "hermes" / "sessions"
    for number in range(20):
        name = f"20261121_110000_{number:06x}"
        grader.grade_session_file(write(sessions, name))
        grader.labels.add(name, completed=number % 2 == 0, sampled=Sampling.RANDOM)

    text = run(home).stdout
    checked = document(run(home, "--json"))["summary"]["checked"]

    assert "\n  completion rate " in text
    assert " done, by 20 random labels\n" in text
    assert checked["sample"] == 20
    assert 0.4 < checked["value"] < 0.8


def test_a_guess_of_the_level_stands_in_for_the_rate_until_there_are_labels(
    run: Run, home: Path, grader: SelfGrader
) -> None:
    assert "No guess is stored." in run(home, "calibration", "level").stdout
    assert run(home, "calibration", "level", "70%").stdout.startswith("Your guess: 70 % of tasks get done.")
    assert document(run(home, "calibration", "level", "--json"))["level"]["rate"] == 0.7
    told = run(home).stdout
    assert " done, from your guess; next: grader-daemon label\n" in told
    grader.labels.add(FINE, completed=True, sampled=Sampling.RANDOM)
    assert " done, from your guess and 1 random label; next: " in run(home).stdout
    assert "No guess is stored." in run(home, "calibration", "level", "--forget").stdout
    assert "unknown: 1 of 20 random sessions labelled" in run(home).stdout


@pytest.mark.parametrize("wrong", [["most"], ["130%"], ["nan"], ["--", "-3"], ["0.5", "--forget"]])
def test_a_level_that_is_no_share_is_refused(run: Run, home: Path, grader: SelfGrader, wrong: list[str]) -> None:
    assert run(home, "calibration", "level", *wrong).returncode == 2
    assert grader.calibration.level() is None
    with pytest.raises(InputError, match="a share from 0 to 1"):
        grader.calibration.guess_level(1.5)


def test_without_reviews_the_summary_is_as_it_was(run: Run, home: Path, grader: SelfGrader) -> None:
    grader.labels.add(FINE, completed=False, sampled=Sampling.RANDOM)

    assert "unknown: 1 of 20 random sessions labelled" in run(home).stdout
    assert document(run(home, "--json"))["summary"]["checked"] == {
        "value": None,
        "low": None,
        "high": None,
        "sample": 1,
    }


# -- the api -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "said",
    [
        {},
        {"completed": 1},
        {"completed": "yes"},
        {"quality": 0},
        {"quality": True},
        {"completed": True, "note": "n" * 1001},
    ],
)
def test_a_label_that_says_nothing_sensible_is_refused(grader: SelfGrader, said: dict[str, Any]) -> None:
    with pytest.raises(InputError):
        grader.labels.add(FINE, **said)


def test_who_has_no_name_has_a_number(grader: SelfGrader, monkeypatch: pytest.MonkeyPatch) -> None:
    def nobody() -> str:
        raise KeyError("uid not found")

    monkeypatch.setattr("getpass.getuser", nobody)

    assert grader.labels.add(FINE, completed=True).given_by.startswith("user ")


def test_the_grade_that_is_made_again_is_given_with_the_word_above_it(grader: SelfGrader, home: Path) -> None:
    grader.labels.add(FINE, completed=False)
    write(home / ".timmy" / "hermes" / "sessions", FINE, turns(5, task="Fix the parser"))

    [grade] = grader.grade_latest_sessions()

    assert (grade.task_completed, grade.automatic_completed) == (False, True)


def test_the_same_seed_asks_for_the_same_session(grader: SelfGrader) -> None:
    def asked(seed: int) -> str:
        item = grader.review.next_item(seed=seed)
        assert item is not None
        return item.stored.grade.session_id

    assert [asked(seed) for seed in range(20)] == [asked(seed) for seed in range(20)]
    assert {asked(seed) for seed in range(20)} == {FINE, FAILED, SECOND}


def test_a_session_on_which_a_scorer_disagrees_is_asked_for(grader: SelfGrader) -> None:
    stored = grader.grades.find(SECOND)
    with grader.context.writable.transaction():
        checks = grader.context.writable.quality
        number = checks.begin(SECOND, scorer="severe", digest=stored.digest, ours=4, now=now(), budgeted=False)
        checks.answered(number, 1.0)
        database_of(grader).connection.execute("UPDATE session_details SET p_completed = NULL")

    grader.labels.add(FINE, completed=True, source=FeedbackSource.REVIEW, sampled=Sampling.RANDOM)
    items = [grader.review.next_item(seed=seed) for seed in range(20)]

    uncertain = {item.stored.grade.session_id for item in items if item and item.sampled is Sampling.UNCERTAIN}
    assert uncertain == {SECOND}


def test_sessions_of_longer_ago_are_asked_for_when_there_are_no_others(grader: SelfGrader, home: Path) -> None:
    old = "20261001_100000_dddddd"
    file = write(home / ".timmy" / "hermes" / "sessions", old, age=40 * 86_400)
    grader.grade_session_file(file)

    assert {grader.review.next_item(seed=seed).stored.grade.session_id for seed in range(9)} == {FINE, FAILED, SECOND}  # type: ignore[union-attr]
    item = grader.review.next_item(passed={FINE, FAILED, SECOND})
    assert item is not None
    assert item.stored.grade.session_id == old
    assert grader.review.next_item(passed={FINE, FAILED, SECOND, old}) is None


# -- review ------------------------------------------------------------------------------------------------------------


class Review(Protocol):
    """Review with these keys, each on a line of its own; sessions come in the order of their ids."""

    def __call__(self, home: Path, keys: Iterable[str], *arguments: str) -> Ended: ...


@pytest.fixture
def review(run: Run, monkeypatch: pytest.MonkeyPatch) -> Review:
    def in_order(candidates: Sequence[Candidate], **_: object) -> tuple[Candidate, Sampling] | None:
        first = min(candidates, key=lambda candidate: candidate.session_id, default=None)
        return None if first is None else (first, Sampling.RANDOM)

    def reviewed(home: Path, keys: Iterable[str], *arguments: str) -> Ended:
        monkeypatch.setattr("grader_daemon.api.review.choose", in_order)
        monkeypatch.setattr(sys, "stdin", io.StringIO("".join(f"{key}\n" for key in keys)))
        return run(home, "label", *arguments)

    return reviewed


def test_one_key_judges_a_session(review: Review, home: Path) -> None:
    ended = review(home, "yn4n", "-n", "3")

    assert ended.returncode == 0
    assert rows(home) == [
        (FINE, 1, None, "review", "random", None),
        (FAILED, 0, None, "review", "random", None),
        (SECOND, 0, 4, "review", "random", None),
    ]
    assert "5 labels a week are enough; you gave 0 this week in reviews." in ended.stdout
    assert "3 labelled now, 3 this week in reviews.\n" in ended.stdout
    assert ended.stdout.endswith(f"To undo the last one: grader-daemon label {SECOND} --undo\n")


def test_a_session_can_be_read_before_it_is_judged(review: Review, home: Path) -> None:
    shown = review(home, "tq").stdout

    assert "assistant" in shown.partition("q quit")[2]
    assert "Done, the date parser works and all tests pass." in shown.partition("q quit")[2]
    assert rows(home) == []


def test_the_evidence_is_shown(review: Review, home: Path) -> None:
    ended = review(home, "sq")

    for line in (
        "Asked:\n  Fix the parser",
        "Answered:\n  Done, the date parser works and all tests pass.",
        "Failed or refused:\n  nothing",
        "Failed or refused:\n  terminal: permission denied (message 2): ",
    ):
        assert line in ended.stdout


def test_what_the_grader_thinks_is_not_shown_before_a_person_has_judged(review: Review, home: Path) -> None:
    before = review(home, "q").stdout
    after = review(home, "yq").stdout.partition("Saved: done (by timmy on ")[2].partition("\n\n")[0]

    for word in ("completion.", "quality.", "probability", "The grader says", "yes", "quality 3"):
        assert word not in before
    assert "The grader says: unsure (" in after
    assert "not yet checked" not in after
    assert "Quality 3 of 5." in after
    assert "    +1  completion.phrase: the final answer says that the task is done" in after


def test_claims_and_what_people_said_are_evidence(review: Review, home: Path, grader: SelfGrader) -> None:
    with grader.context.writable.transaction():
        database_of(grader).connection.execute(
            "UPDATE session_details SET claims = ?, people = ? WHERE session_id = ?",
            (
                _encoded(Claim(ClaimKind.TESTS_PASSED, Support.CONTRADICTED, HOSTILE, 5, (2, 4))),
                _encoded(PersonSignal(SignalKind.GAVE_UP, 0)),
                FINE,
            ),
        )

    shown = review(home, "q").stdout

    assert "Claims:\n  contradicted: tests passed �[31m��31m� (message 5, see messages 2, 4)\n" in shown
    assert "People said:\n  gave up (message 0): Fix the parser" in shown


def test_nothing_in_a_session_is_obeyed_by_a_terminal(review: Review, home: Path) -> None:
    shown = review(home, "ssq").stdout

    assert "Done" in shown
    assert not set("\x1b\u202e\x9b\x07") & set(shown)
    assert "A1b2" not in shown


@pytest.mark.parametrize(
    ("keys", "kept"),
    [
        pytest.param(["s", "y", "q"], [(FAILED, 1)], id="skip"),
        pytest.param(["Yes", "", "  n  ", "q"], [(FINE, 1), (FAILED, 0)], id="words-and-empty-lines"),
        pytest.param(["x", "?", "y", "q"], [(FINE, 1)], id="other-keys-do-nothing"),
        pytest.param(["u", "y"], [(FINE, 1)], id="nothing-to-undo"),
        pytest.param(["o", "y"], [(FINE, 1)], id="open-then-judge"),
        pytest.param(["y", "\x04"], [(FINE, 1)], id="control-d"),
        pytest.param([], [], id="no-input"),
    ],
)
def test_keys_do_what_they_say(review: Review, home: Path, keys: list[str], kept: list[tuple[str, int]]) -> None:
    ended = review(home, keys)

    assert ended.returncode == 0
    assert [row[:2] for row in rows(home)] == kept


def test_open_says_where_the_file_is(review: Review, home: Path) -> None:
    assert str(home / ".timmy/hermes/sessions" / f"session_{FINE}.json") in review(home, "oq").stdout


def test_an_undone_session_is_asked_about_again(review: Review, home: Path) -> None:
    ended = review(home, "yuny", "-n", "2")

    assert "Undone: done (by timmy on " in ended.stdout
    assert [row[:3] for row in rows(home)] == [(FINE, 1, None), (FINE, None, None), (FINE, 0, None), (FAILED, 1, None)]
    assert "2 labelled now, 2 this week in reviews.\n" in ended.stdout


def test_a_quality_may_be_corrected_before_the_verdict(review: Review, home: Path) -> None:
    review(home, "25yq")

    assert rows(home)[0][:3] == (FINE, 1, 5)


def test_reviews_end_when_nothing_is_left(review: Review, home: Path) -> None:
    assert "No other finished session is left to label." in review(home, "yyyy").stdout
    assert "No other finished session is left to label." in review(home, "y").stdout
    assert len(rows(home)) == 3


def test_a_review_before_the_first_grade_says_how_to_get_one(review: Review, tmp_path: Path) -> None:
    database = tmp_path / "new/.timmy/uniwizard/session_grades.db"
    database.parent.mkdir(parents=True)
    SqliteStore(database).close()

    assert "No session is graded yet. Next: grader-daemon grade\n" in review(tmp_path / "new", "y").stdout


def test_a_session_without_its_file_is_shown_by_what_is_stored(review: Review, home: Path) -> None:
    (home / ".timmy/hermes/sessions" / f"session_{FAILED}.json").unlink()

    shown = review(home, "sq").stdout.partition(FAILED)[2]

    assert "Asked:\n  Fix the date parser" in shown
    assert "Failed or refused:\n  terminal: permission denied (message 2)\n" in shown
    assert "Note:\n  the messages cannot be shown: " in shown


def test_what_a_person_said_last_is_shown_too(review: Review, home: Path, grader: SelfGrader) -> None:
    name = "20261121_090000_000000"
    messages = [*turns(1, task="Fix it"), json_user("Still broken"), *json_round(), json_answer("Now it works.")]
    grader.grade_session_file(write(home / ".timmy" / "hermes" / "sessions", name, messages))

    shown = review(home, "q").stdout

    assert "Asked:\n  Fix it\n\nAsked last:\n  Still broken\n\nAnswered:\n  Now it works." in shown


def _encoded(value: object) -> str:
    return msgspec.json.encode([value]).decode()


def test_calibration_alone_shows_the_grader(run: Run, home: Path, grader: SelfGrader) -> None:
    grader.labels.add(FINE, completed=True)

    assert run(home, "calibration").stdout == run(home, "calibration", "show").stdout
    assert document(run(home, "calibration", "--json")) == document(run(home, "calibration", "show", "--json"))
