from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from grader_daemon.domain.analysis import NO_MESSAGE, Category, ErrorSign, Failure, FailureKind, Subcategory
from grader_daemon.errors import NoDatabaseError, StoreDamagedError, StoreError
from grader_daemon.recall.find_recollections import Recollections
from grader_daemon.storage.sqlite.store import SqliteStore
from tests.earlier import add_migration
from tests.past_sessions import LOGIN, known_database, refused, remember
from tests.strategies import NOW

NO_MODULE = ErrorSign(
    fingerprint="2-module",
    tool="terminal",
    command="python",
    category=Category.COMMAND_FAILED,
    subcategory=Subcategory.DEPENDENCY_ERROR,
    signal="ModuleNotFoundError: No module named <text>",
    example="ModuleNotFoundError: No module named 'yaml'",
)


SILENT = msgspec.structs.replace(NO_MODULE, fingerprint="2-silent", command="chmod", signal=NO_MESSAGE)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "grades.db"


@pytest.fixture
def store(path: Path) -> Iterator[SqliteStore]:
    opened = SqliteStore(path)
    yield opened
    opened.close()


def pushes(store: SqliteStore, *, helped: int, tries: int, prefix: str = "push") -> None:
    """Sessions in which a push was refused, and a login came next, after which it may have worked."""
    for number in range(tries):
        kind = FailureKind.RECOVERED if number < helped else FailureKind.HARMFUL
        remember(store, f"{prefix}{number}", "Push it", failures=[refused(LOGIN, kind=kind)])


def modules(store: SqliteStore) -> None:
    """A session in which a module was missing, and nothing was tried next."""
    missing = Failure(2, "terminal", Category.COMMAND_FAILED, "python", NO_MODULE.fingerprint, None)
    remember(store, "module", "Run it", failures=[missing], signs=[NO_MODULE])


def asked(path: Path, tool: str, *, command: str | None = None, error: str | None = None) -> list[str]:
    found = Recollections(path).causes(tool, command=command, error=error, limit=5)
    return [cause.words.fingerprint for cause in found]


# -- what helps ------------------------------------------------------------------------------------------------------


def test_a_step_is_told_only_where_it_surely_helps(path: Path, store: SqliteStore) -> None:
    pushes(store, helped=4, tries=4)
    assert [cause.sure_step for cause in Recollections(path).causes("terminal", command=None, error=None, limit=5)] == [
        None
    ]

    pushes(store, helped=8, tries=8, prefix="more")

    (cause,) = Recollections(path).causes("terminal", command=None, error=None, limit=5)
    assert cause.sure_step is not None
    assert (cause.sure_step.tool, cause.sure_step.command, cause.sure_step.tries) == ("terminal", "gh auth", 12)
    assert (cause.failures, cause.sessions, cause.tries, cause.recovered, cause.last_seen) == (12, 12, 12, 12, NOW)


def test_a_step_that_helps_half_the_time_is_not_sure(path: Path, store: SqliteStore) -> None:
    pushes(store, helped=10, tries=20)
    (cause,) = Recollections(path).causes("terminal", command=None, error=None, limit=5)
    assert (cause.sure_step, cause.tries, cause.recovered) == (None, 20, 10)


@pytest.mark.parametrize(
    ("tool", "command", "error", "found"),
    [
        pytest.param("terminal", None, None, ["2-push", "2-module"], id="all-of-a-tool-most-sessions-first"),
        pytest.param("Terminal", None, None, ["2-push", "2-module"], id="whatever-its-capitals"),
        pytest.param("terminal", "git push origin main", None, ["2-push"], id="command-with-arguments"),
        pytest.param("terminal", "git", None, [], id="a-program-without-its-subcommand"),
        pytest.param("terminal", "/usr/bin/python3.11 a.py", None, ["2-module"], id="program-with-path-and-version"),
        pytest.param("terminal", "pythonic", None, [], id="a-program-that-begins-alike"),
        pytest.param("terminal", " ", None, [], id="a-command-of-nothing"),
        pytest.param("terminal", None, "permission denied", ["2-push"], id="category"),
        pytest.param("terminal", None, "dependency_error", ["2-module"], id="finer-category"),
        pytest.param("terminal", None, "No module named 'requests'", ["2-module"], id="what-it-said"),
        pytest.param("terminal", None, "disk quota exceeded", [], id="something-else"),
        pytest.param("Bash", "python a.py", None, ["2-module"], id="the-same-tool-by-another-name"),
        pytest.param("Bash", None, None, [], id="an-unknown-tool-alone"),
    ],
)
def test_causes_are_found_by_tool_command_and_error(
    path: Path, store: SqliteStore, *, tool: str, command: str | None, error: str | None, found: list[str]
) -> None:
    pushes(store, helped=2, tries=2)
    modules(store)
    assert asked(path, tool, command=command, error=error) == found


def test_a_cause_without_a_message_is_not_found_by_what_was_said(path: Path, store: SqliteStore) -> None:
    silent = Failure(2, "terminal", Category.COMMAND_FAILED, "chmod", SILENT.fingerprint, None)
    remember(store, "silent", "Run it", failures=[silent], signs=[SILENT])
    modules(store)
    assert asked(path, "terminal", error="No module named 'numpy'") == ["2-module"]
    assert asked(path, "terminal", command="chmod") == ["2-silent"]


def test_failing_tools_are_named_most_failures_first(path: Path, store: SqliteStore) -> None:
    remember(store, "a", "Read it")
    modules(store)
    other = Failure(2, "read_file", Category.FILE_NOT_FOUND, None, "2-read", LOGIN)
    sign = ErrorSign(
        fingerprint="2-read",
        tool="read_file",
        command=None,
        category=Category.FILE_NOT_FOUND,
        signal="File not found",
        example="File not found: x",
    )
    for number in range(2):
        remember(store, f"read{number}", "Read it", failures=[other], signs=[sign])
    assert Recollections(path).failing_tools() == ["read_file", "terminal"]


# -- the rest --------------------------------------------------------------------------------------------------------


def test_scores_are_those_of_insight(path: Path, store: SqliteStore) -> None:
    # (5 + 3 + 5) / 3 where the task was completed, (5 + 3 + 1) / 3 where not: see Grade.score
    remember(store, "a", "Fix it", task_type="debugging")
    remember(store, "b", "Fix that", task_type="debugging", task_completed=False)
    remember(store, "c", "Look", task_type="research")

    known = Recollections(path)

    mean, sessions = known.task_score("debugging")

    assert mean == pytest.approx(11 / 3)
    assert sessions == 2
    assert known.task_score("nothing") == (None, 0)
    assert known.task_types() == ["debugging", "research"]


def test_sessions_are_found_by_words_and_by_id(path: Path) -> None:
    known = Recollections(known_database(path))
    found = known.session("20261121_b")
    assert [each.session.session_id for each in known.like("deploy to production", limit=1)] == ["20261121_b"]
    assert found is not None
    assert found.project == "/home/x/site"
    assert known.session("20261121") is None
    assert [each.session_id for each in known.latest(limit=2)] == ["20261121_c", "20261121_b"]


def test_each_answer_is_of_the_database_as_it_is_then(path: Path, store: SqliteStore) -> None:
    known = Recollections(path)
    assert known.latest(limit=5) == []
    remember(store, "a", "Deploy")
    assert [each.session_id for each in known.latest(limit=5)] == ["a"]
    store.close()
    path.unlink()
    with pytest.raises(NoDatabaseError, match=r"nothing was graded yet"):
        known.latest(limit=5)


def test_a_question_writes_nothing(path: Path) -> None:
    known_database(path)
    before = path.read_bytes()
    known = Recollections(path)
    known.like("deploy the release", limit=5)
    known.causes("terminal", command="git push", error="denied", limit=5)
    known.task_score("general")
    assert path.read_bytes() == before
    assert path.with_name("grades.db-wal").stat().st_size == 0


def test_a_database_that_is_none_is_told_as_elsewhere(path: Path) -> None:
    path.write_text("something else entirely, and longer than a header of a hundred bytes would have to be" * 9)
    with pytest.raises(StoreDamagedError, match="check db_path"):
        Recollections(path).latest(limit=1)


@pytest.mark.usefixtures("store")
def test_a_database_of_another_version_is_told_as_elsewhere(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    add_migration(monkeypatch)
    with pytest.raises(StoreError, match="run --once"):
        Recollections(path).latest(limit=1)
