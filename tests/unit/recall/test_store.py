from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from grader_daemon.domain.analysis import FailureKind, SessionState, Step
from grader_daemon.domain.recollection import PastFailure
from grader_daemon.recall import store as recall_module
from grader_daemon.recall.store import Recall
from grader_daemon.storage.sqlite.store import SqliteStore
from tests.past_sessions import LOGIN, refused, remember
from tests.strategies import NOW


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SqliteStore]:
    opened = SqliteStore(tmp_path / "grades.db")
    yield opened
    opened.close()


def ids(store: SqliteStore, task: str, limit: int = 5) -> list[str]:
    return [each.session.session_id for each in Recall(store).like(task, limit)]


# -- which sessions are alike ----------------------------------------------------------------------------------------


def test_sessions_that_share_more_and_rarer_words_come_first(store: SqliteStore) -> None:
    remember(store, "a", "Deploy the api and its worker to the staging cluster in Paris with helm")
    remember(store, "b", "Deploy the api and its worker to the staging cluster in Paris with kubectl and helm")
    for number in range(5):
        remember(store, f"c{number}", "Summarize my mail about helm, kubectl and Paris")

    found = Recall(store).like("deploy API, worker on staging cluster in Paris by Kubectl", 5)

    assert [(each.session.session_id, sorted(each.shared)) for each in found] == [
        ("b", ["api", "cluster", "deploy", "kubectl", "paris", "staging", "worker"]),
        ("a", ["api", "cluster", "deploy", "paris", "staging", "worker"]),
    ]


def test_what_is_much_less_alike_than_the_most_alike_session_is_left_out(store: SqliteStore) -> None:
    remember(store, "a", "Deploy the api to staging")
    remember(store, "b", "Deploy the api to staging with kubectl")

    assert ids(store, "Deploy the api to staging with kubectl") == ["b"]
    assert ids(store, "Deploy the api to staging") == ["b", "a"]


def test_a_session_that_shares_less_than_nine_tenths_of_the_most_is_left_out(store: SqliteStore) -> None:
    """Of two sessions a word of both weighs ln 2, a word of one ln 3: of ten words and one more, 86 % are shared."""
    ten = " ".join(f"word{number}" for number in range(10))
    remember(store, "a", ten)
    remember(store, "b", f"{ten} kubectl")

    assert ids(store, f"{ten} kubectl") == ["b"]


@pytest.mark.parametrize(("shared", "found"), [(4, ["a"]), (3, [])], ids=["half", "three-eighths"])
def test_a_session_that_shares_less_than_two_fifths_of_the_question_is_left_out(
    store: SqliteStore, shared: int, found: list[str]
) -> None:
    words = [f"word{number}" for number in range(8)]
    remember(store, "a", " ".join(words[:shared]))

    assert ids(store, " ".join(words)) == found


def test_the_session_that_asks_hides_none_that_is_less_alike(store: SqliteStore) -> None:
    remember(store, "a", "Deploy the api to staging")
    remember(store, "asks", "Deploy the api to staging with kubectl", state=SessionState.OPEN)

    assert ids(store, "Deploy the api to staging with kubectl") == ["a"]


def test_words_that_no_session_has_make_a_task_another_one(store: SqliteStore) -> None:
    remember(store, "a", "Sort the column of the table")
    for number in range(20):
        remember(store, f"s{number}", f"Summarize the table of mail {number} in a column", request=number)

    assert len(ids(store, "The column of the table")) == 5
    assert ids(store, "Rename the invoice column in the billing table") == []


def test_a_long_question_is_known_by_what_sessions_have_of_it(store: SqliteStore) -> None:
    known = "mend the importer of orders that drops the last line of exports with quotes"
    remember(store, "a", known)
    assert ids(store, f"{known} " + " ".join(f"other{number}" for number in range(100))) == ["a"]


@pytest.mark.parametrize(
    "task",
    [
        pytest.param("x", id="a-letter"),
        pytest.param("What is in it for us, and how do we do that?", id="words-that-say-nothing"),
        pytest.param("Deploy a spaceship", id="one-of-several-words"),
        pytest.param("Translate this poem", id="one-of-two-words"),
        pytest.param("?! …", id="no-words-at-all"),
        pytest.param("", id="nothing"),
    ],
)
def test_other_tasks_are_not_alike(store: SqliteStore, task: str) -> None:
    remember(store, "a", "Deploy what is in the release for us as x")
    remember(store, "b", "Translate a letter")
    assert ids(store, task) == []


def test_a_session_is_found_by_what_stands_behind_the_beginning_of_its_request(store: SqliteStore) -> None:
    remember(store, "a", "Solve the issue that follows…", request_words="solve the issue that follows astropy units")
    remember(store, "b", "Solve the issue that follows…", request_words="solve the issue that follows django forms")

    assert ids(store, "Fix the failing test of units in astropy") == ["a"]


def test_words_that_nearly_all_requests_of_a_project_share_count_nothing(store: SqliteStore) -> None:
    template = "Work through the ticket of the tracker: "
    for number in range(12):
        task = f"{template}mend module{number} and importer{number}"
        remember(store, f"t{number}", task, request=number, project="/w/tickets")
    remember(store, "other", "Read the ticket of the tracker aloud", request=99, project="/w/other")

    assert ids(store, "The ticket of the tracker") == ["other"]
    assert ids(store, f"{template}mend module7 and importer7") == ["t7"]


def test_a_request_that_most_sessions_of_a_project_have_is_no_template(store: SqliteStore) -> None:
    for number in range(40):
        remember(store, f"timer{number}", "Back the database up", request=6, project="/w/shop", minutes=number)
    remember(store, "restored", "Restore the database", request=7, project="/w/shop")

    assert ids(store, "Back the database up") == ["timer39"]
    assert ids(store, "Restore the database") == ["restored"]


def test_open_sessions_of_a_request_make_no_template_of_rare_words(store: SqliteStore) -> None:
    for number in range(30):
        remember(store, f"open{number}", "Mend the importer", request=6, project="/w/shop", state=SessionState.OPEN)
    for number in range(10):
        remember(store, f"t{number}", f"Mend module {number}", request=100 + number, project="/w/shop")
    remember(store, "found", "Rewrite the importer of orders", request=7, project="/w/shop")

    assert ids(store, "Mend the importer of orders") == ["found"]


def test_a_template_is_known_where_more_sessions_have_it_than_are_looked_at(
    store: SqliteStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recall_module, "_MOST_ROWS", 12)
    for number in range(30):
        remember(store, f"t{number}", f"Work through the ticket {number}", request=number, project="/w/tickets")

    assert ids(store, "The ticket to work through") == []


def test_a_project_with_few_sessions_has_no_template(store: SqliteStore) -> None:
    for number in range(3):
        remember(store, f"t{number}", f"Work through the ticket, number {number}", request=number, project="/w/tickets")

    assert len(ids(store, "Work through the ticket")) == 3


def test_one_word_is_enough_where_no_more_is_asked(store: SqliteStore) -> None:
    remember(store, "a", "Deploy the release")
    assert ids(store, "deploy!") == ["a"]


def test_words_that_many_sessions_have_do_not_outweigh_a_rare_one(store: SqliteStore) -> None:
    for number in range(60):
        remember(store, f"common{number}", "Fix tests now")
    remember(store, "rare", "Install quicklisp and sbcl")
    assert ids(store, "Fix tests of quicklisp on sbcl", limit=20) == ["rare"]


@pytest.mark.parametrize(
    "task",
    [
        pytest.param('deploy" OR "release', id="quotes"),
        pytest.param("deploy* AND NOT (release) task_summary:release", id="operators"),
        pytest.param("NEAR (deploy release)", id="nearness"),
        pytest.param("deploy \x00 release \ud800", id="characters-that-no-text-has"),
    ],
)
def test_a_question_is_words_never_a_query(store: SqliteStore, task: str) -> None:
    remember(store, "a", "Deploy the release")
    assert ids(store, task) == ["a"]


def test_open_sessions_are_left_out_the_one_that_asks_may_be_among_them(store: SqliteStore) -> None:
    remember(store, "open", "Deploy the release", state=SessionState.OPEN)
    remember(store, "cut", "Deploy the release", state=SessionState.INTERRUPTED)
    assert ids(store, "Deploy the release") == ["cut"]


def test_of_one_request_the_newest_session_stands_for_all(store: SqliteStore) -> None:
    for number in range(3):
        remember(store, f"same{number}", "Deploy the release", request=7, minutes=number)
    remember(store, "other", "Deploy the release")

    found = Recall(store).like("Deploy the release", 5)

    assert [(each.session.session_id, each.more) for each in found] == [("same2", 2), ("other", 0)]


def test_a_request_that_very_many_sessions_have_hides_no_other(store: SqliteStore) -> None:
    remember(store, "other", "Deploy the release and tell me", minutes=-1)
    for number in range(150):
        remember(store, f"timer{number}", "Deploy the release nightly", minutes=number)

    found = Recall(store).like("Deploy the release", 5)

    assert [(each.session.session_id, each.more) for each in found] == [("timer149", 149), ("other", 0)]


def test_of_sessions_that_are_equally_alike_the_one_that_ended_last_comes_first(store: SqliteStore) -> None:
    remember(store, "late", "Deploy the release to staging", minutes=5)
    remember(store, "early", "Deploy the release to production", minutes=1)
    assert ids(store, "Deploy the release") == ["late", "early"]


def test_no_more_are_told_than_asked_for(store: SqliteStore) -> None:
    for number in range(4):
        remember(store, f"s{number}", "Deploy the release", request=number, minutes=number)
    assert ids(store, "Deploy the release", limit=2) == ["s3", "s2"]


def test_of_a_word_that_many_have_the_newest_are_looked_at(store: SqliteStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recall_module, "_MOST_ROWS", 2)
    for number in range(4):
        remember(store, f"s{number}", "Deploy the release", request=number, minutes=number)
    assert ids(store, "Deploy the release") == ["s3", "s2"]


def test_sessions_of_another_program_of_which_no_text_was_redacted_are_left_out(store: SqliteStore) -> None:
    remember(store, "a", "Deploy the release")
    store.connection.execute("DELETE FROM session_details")
    assert ids(store, "Deploy the release") == []
    assert Recall(store).find("a") is None
    assert Recall(store).latest(5) == []


# -- what is told of one ---------------------------------------------------------------------------------------------


def test_failures_are_told_by_kind_with_a_step_that_worked(store: SqliteStore) -> None:
    other = Step("read_file", None, worked=True)
    remember(
        store,
        "a",
        "Deploy",
        failures=[
            refused(Step("terminal", "ls", worked=False)),
            refused(LOGIN, index=4),
            refused(None, index=6),
            refused(other, kind=FailureKind.PROBE, index=8),
        ],
    )

    found = Recall(store).find("a")

    assert found is not None
    assert found.errors == 3
    assert found.failures == (
        PastFailure(
            tool="terminal",
            command="git push",
            category="permission_denied",
            times=3,
            next_tool="terminal",
            next_command="gh auth",
        ),
    )


def test_a_step_that_did_not_work_is_no_help(store: SqliteStore) -> None:
    remember(store, "a", "Deploy", failures=[refused(Step("terminal", "ls", worked=False)), refused(index=4)])
    found = Recall(store).find("a")
    assert found is not None
    assert [(each.times, each.next_tool) for each in found.failures] == [(2, None)]


def test_the_latest_come_newest_first_without_open_ones(store: SqliteStore) -> None:
    for number, state in enumerate((SessionState.COMPLETE, SessionState.INTERRUPTED, SessionState.OPEN)):
        remember(store, f"s{number}", "Deploy", state=state, minutes=number)
    assert [each.session_id for each in Recall(store).latest(5)] == ["s1", "s0"]
    assert [each.session_id for each in Recall(store).latest(1)] == ["s1"]


def test_ignored_issues_and_those_that_no_session_has_any_more_are_no_causes(store: SqliteStore) -> None:
    remember(store, "a", "Deploy", failures=[refused()])
    assert [each.fingerprint for each in Recall(store).causes()] == ["2-push"]
    store.issues.mark("2-push", resolved_at=None, ignored_at=NOW)
    assert Recall(store).causes() == []
