"""What other programs are given: types they can name, plain values, nothing on their standard output."""

from __future__ import annotations

import ast
import inspect
import json
import logging
import os
import subprocess
import sys
import types
import typing
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import structlog

import grader_daemon
from grader_daemon import (
    Grade,
    GraderError,
    IngestOutcome,
    IngestResult,
    InputError,
    SelfGrader,
    Session,
    StoredGrade,
    UngradableError,
    as_dict,
    as_frame,
    bootstrap,
)
from grader_daemon.api.calibration import Calibrations
from grader_daemon.api.grades import Grades
from grader_daemon.api.grading import Grading
from grader_daemon.api.insight import Insight
from grader_daemon.api.labels import Labels
from grader_daemon.api.review import Reviews
from grader_daemon.storage.sqlite.store import SqliteStore
from tests.conftest import SessionWriter
from tests.database_writer import DatabaseWriter
from tests.strategies import grade, json_answer, json_user
from tests.tables import for_each
from tests.units import unit

MESSAGES = [json_user("Fix the parser"), json_answer("Done: the parser is fixed, and all tests pass.")]


@pytest.fixture
def grader(tmp_path: Path) -> Iterator[SelfGrader]:
    with SelfGrader(db_path=tmp_path / "grades.db", watch_roots=[tmp_path / "sessions"]) as opened:
        yield opened


_NO_NUMBER: Any = "x"


@pytest.mark.parametrize(
    ("ask", "said"),
    [
        pytest.param(lambda grader: grader.grade_latest_sessions(n=-1), "n: -1", id="fewer-than-none"),
        pytest.param(lambda grader: grader.grade_latest_sessions(n=_NO_NUMBER), "n: 'x'", id="sessions"),
        pytest.param(lambda grader: grader.identify_patterns(days=_NO_NUMBER), "days: 'x'", id="days"),
        pytest.param(
            lambda grader: grader.identify_patterns(days=10**400), "days: 1", id="more-days-than-a-number-holds"
        ),
        pytest.param(lambda grader: grader.grades.select(limit=_NO_NUMBER), "limit: 'x'", id="grades"),
        pytest.param(lambda grader: grader.grades.select(limit=0), "limit: 0", id="no-grades"),
        pytest.param(lambda grader: grader.grades.select(days=_NO_NUMBER), "days: 'x'", id="days-of-grades"),
        pytest.param(lambda grader: grader.grades.changes(limit=-1), "limit: -1", id="changes"),
        pytest.param(lambda grader: grader.grades.changes(after=-1), "after: -1", id="before-all-changes"),
        pytest.param(lambda grader: grader.grades.similar("a b", limit=_NO_NUMBER), "limit: 'x'", id="similar"),
        pytest.param(lambda grader: grader.grades.most_expensive(days=7, limit=0), "limit: 0", id="expensive"),
        pytest.param(lambda grader: grader.insight.error_issues(limit=_NO_NUMBER), "limit: 'x'", id="errors"),
        pytest.param(lambda grader: grader.insight.alerts(limit=_NO_NUMBER), "limit: 'x'", id="alerts"),
        pytest.param(lambda grader: grader.insight.kept_reports(limit=_NO_NUMBER), "limit: 'x'", id="reports"),
        pytest.param(
            lambda grader: grader.calibration.changes(days=_NO_NUMBER), "days: 'x'", id="changes-of-the-grader"
        ),
    ],
)
def test_what_is_no_number_is_an_error_of_ours(
    grader: SelfGrader, ask: Callable[[SelfGrader], object], said: str
) -> None:
    grader.context.make_store()

    with pytest.raises(InputError, match=f"^{said}.* is not valid; give a "):
        ask(grader)


def lately() -> dict[str, str]:
    """When a session was written to that ended an hour ago: scorers are asked of the last weeks alone."""
    ended = bootstrap.utc_now() - timedelta(hours=1)
    return {"session_start": (ended - timedelta(minutes=5)).isoformat(), "last_updated": ended.isoformat()}


def names_of(hint: object) -> Iterator[str]:
    for part in typing.get_args(hint):
        yield from names_of(part)
    if inspect.isclass(hint) and hint.__module__.startswith("grader_daemon."):
        yield hint.__name__


PARTS = (SelfGrader, Grades, Grading, Insight, Labels, Reviews, Calibrations)


def methods() -> dict[str, types.FunctionType]:
    return {
        f"{part.__name__}.{name}": method
        for part in PARTS
        for name, method in inspect.getmembers(part, inspect.isfunction)
        if not name.startswith("_")
    }


@for_each("name", methods())
def test_what_a_method_takes_and_gives_is_public(name: str) -> None:
    method = methods()[name]
    public = {each: getattr(grader_daemon, each) for each in grader_daemon.__all__}
    hints = typing.get_type_hints(method, globalns={**vars(sys.modules[method.__module__]), **public})
    private = {each for hint in hints.values() for each in names_of(hint)} - set(grader_daemon.__all__)
    assert private == set()


def test_every_public_name_can_be_had() -> None:
    assert [name for name in grader_daemon.__all__ if getattr(grader_daemon, name).__name__ != name] == []


def test_type_checkers_are_told_the_names_that_can_be_had() -> None:
    tree = ast.parse(inspect.getsource(grader_daemon))
    told = {
        alias.asname
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and node.module != "grader_daemon._version"
        for alias in node.names
        if alias.asname
    }
    assert sorted(told) == grader_daemon.__all__


# -- paths ---------------------------------------------------------------------------------------------------------


def test_a_single_text_is_one_folder(tmp_path: Path) -> None:
    for given in (str(tmp_path), tmp_path):
        with SelfGrader(db_path=tmp_path / "g.db", watch_roots=given) as grader:
            assert grader.settings.watch_roots == (tmp_path,)


def test_a_single_text_is_one_path(grader: SelfGrader, write_session: SessionWriter) -> None:
    path = write_session(MESSAGES)
    assert len(grader.grading.grade_paths(path).grades) == 1
    assert [each.outcome for batch in grader.grading.regrade(path) for each in batch] == [IngestOutcome.GRADED]


def test_a_folder_is_no_session_file(grader: SelfGrader, write_session: SessionWriter) -> None:
    folder = Path(write_session(MESSAGES)).parent
    with pytest.raises(InputError, match="a folder; grade_paths"):
        grader.grade_session_file(folder)
    assert not grader.settings.db_path.exists()


def test_a_file_without_a_grade_of_its_own_says_of_what_it_is_a_copy(
    grader: SelfGrader, write_session: SessionWriter
) -> None:
    copy = write_session(MESSAGES, folder="elsewhere")
    os.utime(copy, ns=(0, 0))
    grader.grade_session_file(write_session(MESSAGES))
    with pytest.raises(UngradableError, match=r"no grade of its own: copy of session 20261121_220000_abcdef"):
        grader.grade_session_file(copy)


def test_a_folder_without_sessions_is_an_error(grader: SelfGrader, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    outcomes = grader.grading.grade_paths(tmp_path / "empty", dry_run=True)
    assert outcomes.errors == [(str(tmp_path / "empty"), "no session files are below it")]


def test_a_file_of_an_agent_that_is_not_known_is_not_called_broken(grader: SelfGrader, tmp_path: Path) -> None:
    strange = tmp_path / "strange.jsonl"
    strange.write_text('{"type": "session", "version": 3}\n{"type": "message", "text": "hello"}\n')

    outcomes = grader.grading.grade_paths(strange, dry_run=True)

    [(path, error)] = outcomes.errors
    assert path == str(strange)
    assert error.startswith("no agent known here writes this; known: Hermes")


def test_a_file_of_an_agent_that_is_known_by_name_alone_says_whose_it_is(grader: SelfGrader, tmp_path: Path) -> None:
    folder = tmp_path / ".factory" / "sessions" / "-work"
    folder.mkdir(parents=True)
    droid = folder / "5bb7a74f-0325-4906-beff-eb09731f76b5.jsonl"
    droid.write_text('{"type": "message", "message": {"role": "user", "content": "Fix it"}}\n' * 2)

    told = grader.grading.grade_paths([droid, folder], dry_run=True).errors

    words = "Factory Droid wrote this, which this version does not read; how to have it graded: docs/other-agents.md"
    assert told == [(str(droid), words), (str(folder), words)]


def test_a_database_without_sessions_is_an_error(grader: SelfGrader, tmp_path: Path) -> None:
    other = tmp_path / "other.db"
    with DatabaseWriter(other) as process:
        process.run("CREATE TABLE notes (id text PRIMARY KEY)")

    assert grader.grading.grade_paths(other, dry_run=True).errors == [(str(other), "no sessions are in it")]


def test_a_folder_of_an_agent_that_is_not_known_says_so(grader: SelfGrader, tmp_path: Path) -> None:
    lines = '{"type": "session", "version": 3}\n{"type": "message", "text": "hello"}\n'
    (tmp_path / "home" / "b").mkdir(parents=True)
    (tmp_path / "home" / "a.jsonl").write_text("no JSON\n")
    (tmp_path / "home" / "b" / "two.jsonl").write_text(lines)
    (tmp_path / "home" / "b" / "one.jsonl").write_text(lines)

    [(path, error)] = grader.grading.grade_paths(tmp_path / "home", dry_run=True).errors

    assert path == str(tmp_path / "home")
    assert error.startswith("no agent known here writes what is below it (b/one.jsonl); known: Hermes")


def test_roots_that_are_no_folders_are_told(tmp_path: Path, grader: SelfGrader, write_session: SessionWriter) -> None:
    with pytest.raises(InputError, match="sessions: no such folder"):
        grader.grading.ungraded_files()
    write_session(MESSAGES)
    with SelfGrader(db_path=tmp_path / "g.db", watch_roots=[tmp_path / "sessions", tmp_path / "nope"]) as both:
        assert len(both.grading.ungraded_files()) == 1
        assert both.grading.missing_roots() == [tmp_path / "nope"]


# -- questions -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        pytest.param({"state": "foo"}, "'foo'; known: complete, interrupted, open", id="state"),
        pytest.param({"task_type": "foo"}, "task type 'foo'; known: debugging", id="task-type"),
        pytest.param({"model": "foo"}, "model 'foo'; known: m", id="model"),
        pytest.param({"limit": 0}, "limit: 0 is not valid; give a whole number, 1 or more", id="no-limit"),
        pytest.param({"limit": -1}, "limit: -1 is not valid", id="negative-limit"),
        pytest.param({"days": -1}, "above 0", id="days"),
    ],
)
def test_a_wrong_filter_is_told_with_what_is_known(
    grader: SelfGrader, write_session: SessionWriter, wrong: dict[str, typing.Any], words: str
) -> None:
    grader.grade_session_file(write_session(MESSAGES, model="m"))
    with pytest.raises(InputError, match=words):
        grader.grades.select(**wrong)


def test_a_right_filter_may_find_nothing(grader: SelfGrader, write_session: SessionWriter) -> None:
    grader.grade_session_file(write_session(MESSAGES))
    assert grader.grades.select(task_type="debugging", state="open") == []


def test_a_closed_grader_says_so(grader: SelfGrader) -> None:
    SqliteStore(grader.settings.db_path).close()
    grader.grades.select()
    grader.close()
    grader.close()
    with pytest.raises(InputError, match="this SelfGrader is closed"):
        grader.grades.select()


def test_a_function_is_a_scorer(grader: SelfGrader, write_session: SessionWriter) -> None:
    def half(_: Session, made: Grade) -> float:
        return made.response_quality / 2

    made = grader.grade_session_file(write_session(MESSAGES, **lately()))
    (check,) = grader.review.check_quality(half)
    assert (check.session_id, check.quality) == (made.session_id, made.response_quality / 2)
    assert check.scorer.endswith("half")


@pytest.mark.parametrize("wrong", [5, "half", object()])
def test_what_is_no_scorer_is_refused(grader: SelfGrader, wrong: typing.Any) -> None:
    with pytest.raises(InputError, match="is not a scorer"):
        grader.review.check_quality(wrong)


def test_errors_of_the_library_name_no_commands(grader: SelfGrader) -> None:
    insight = grader.insight
    for ask in (lambda: insight.alert(1), lambda: grader.grades.find("x"), lambda: insight.error_issue("abc")):
        with pytest.raises(GraderError) as caught:
            ask()
        assert "grader-daemon" not in str(caught.value)


# -- plain values --------------------------------------------------------------------------------------------------


def test_a_result_is_a_dictionary_all_the_way_down() -> None:
    ended = datetime(2026, 11, 22, tzinfo=UTC)
    made = grade(ended_at=ended, response_quality=4)
    stored = StoredGrade(id=7, grade=made, detailed=True, digest=None, loop_told=False, watched=False)
    found = as_dict(stored)
    assert (found["id"], found["ended_at"], found["response_quality"]) == (7, ended, 4)
    assert found["score"] == made.score
    assert {type(value) for value in found.values()} <= {str, int, float, bool, type(None), tuple, datetime}
    assert json.loads(json.dumps(found, default=str))["session_id"] == made.session_id
    assert as_dict(IngestResult(unit=unit("/s"), outcome=IngestOutcome.BUSY))["outcome"] == "busy"


def test_results_are_a_frame_where_pandas_is(monkeypatch: pytest.MonkeyPatch) -> None:
    fake = types.ModuleType("pandas")
    fake.DataFrame = list  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "pandas", fake)
    assert [row["session_id"] for row in as_frame([grade(session_id="a"), grade(session_id="b")])] == ["a", "b"]


def test_without_pandas_a_frame_says_what_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(InputError, match=r"pandas, which is not installed. Add it: .* install .*pandas"):
        as_frame([grade()])


# -- in a script of its own ----------------------------------------------------------------------------------------

SCRIPT = """
import sys
from grader_daemon import SelfGrader
print("begins", flush=True)
with SelfGrader(db_path=sys.argv[1] + "/grades.db", watch_roots=sys.argv[1] + "/sessions") as grader:
    for batch in grader.grading.backfill(grader.grading.ungraded_files()):
        pass
    print([each.outcome.value for batch in grader.grading.regrade(grader.grading.graded_files()) for each in batch])
    print(len(grader.review.check_quality(lambda session, grade: 1.0)))
"""


def test_a_plain_script_runs_once_and_has_its_output_for_itself(tmp_path: Path, write_session: SessionWriter) -> None:
    write_session(MESSAGES, **lately())
    (tmp_path / "script.py").write_text(SCRIPT)
    ended = subprocess.run(
        [sys.executable, tmp_path / "script.py", tmp_path],
        capture_output=True,
        encoding="utf-8",
        check=False,
        timeout=60,
    )
    assert (ended.returncode, ended.stderr) == (0, "")
    assert ended.stdout.splitlines() == ["begins", "['graded']", "1"]


def test_what_is_logged_goes_where_the_program_wants_it(
    grader: SelfGrader,
    write_session: SessionWriter,
    caplog: pytest.LogCaptureFixture,
    capsys: pytest.CaptureFixture[str],
) -> None:
    structlog.reset_defaults()
    grader.grade_session_file(write_session(MESSAGES, **lately()))
    with caplog.at_level(logging.INFO, "grader_daemon"):
        checks = grader.review.check_quality(lambda _, __: 1.0)
    assert len(checks) == 1
    assert "quality." in caplog.text
    assert capsys.readouterr().out == ""


def test_no_session_is_read_through_a_link_in_the_place_of_a_folder(
    tmp_path: Path, grader: SelfGrader, write_session: SessionWriter
) -> None:
    path = Path(write_session(MESSAGES, folder="sessions/a", **lately()))
    session_id = grader.grade_session_file(path).session_id
    path.parent.rename(tmp_path / "outside")
    path.parent.symlink_to(tmp_path / "outside")

    assert grader.grades.transcript(session_id).note == "the messages cannot be shown: the file is gone"
    assert grader.grades.explain(session_id).note == "the messages cannot be shown: the file is gone"
    assert grader.review.check_quality(lambda _, __: 3.0) == []
