"""The way of a message from its file into the index, and back to the person who looks for it."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest

from grader_daemon import SelfGrader
from grader_daemon.errors import InputError
from grader_daemon.messages import found
from grader_daemon.messages.found import Messages
from grader_daemon.messages.job import message_jobs
from grader_daemon.messages.store import index_file
from grader_daemon.redaction import MARK
from grader_daemon.settings import Settings, load_settings
from tests.e2e.session_files import write
from tests.strategies import json_answer, json_round, json_user

KEY = "sk-" + "A1b2C3d4" * 6
Home = Callable[..., SelfGrader]


def settings(tmp_path: Path, days: int = 3_650) -> Settings:
    return load_settings(db_path=tmp_path / "grades.db", watch_roots=(tmp_path / "sessions",), message_search_days=days)


@pytest.fixture
def home(tmp_path: Path) -> Home:
    """Grade sessions that were asked for these, and index them as the daemon does."""

    def made(*asked: str, days: int = 3_650) -> SelfGrader:
        for number, text in enumerate(asked):
            result = '{"output": "done", "exit_code": 0}'
            call = json_round(result, arguments='{"command": "alembic upgrade head"}')
            write(tmp_path / "sessions", f"s{number}", [json_user(text), *call, json_answer("All is well.")])
        grader = SelfGrader(settings=settings(tmp_path, days))
        grader.grade_latest_sessions()
        index(grader)
        return grader

    return made


def index(grader: SelfGrader, later: timedelta = timedelta()) -> bool:
    """Run the job once."""
    context = grader.context
    jobs = message_jobs(context.settings, context.writable, is_settled=lambda: True)
    return [job.run(context.now() + later) for job in jobs] == [True]


def test_a_word_is_found_with_a_line_around_it_and_how_the_session_ended(home: Home) -> None:
    with home("Move the table of Wombats to the other schema") as grader:
        told = Messages(grader.context).find("wombat")

    (hit,) = told.hits
    assert (hit.session_id, hit.index, hit.role) == ("s0", 0, "user")
    assert hit.excerpt == "Move the table of Wombats to the other schema"
    assert (hit.errors, told.sessions, told.is_more) == (0, 1, False)
    assert hit.outcome == grader_outcome(hit.session_id, home)


def grader_outcome(session_id: str, home: Home) -> str:
    with home() as grader:
        return grader.grades.find(session_id).grade.outcome


def test_the_arguments_of_calls_are_found_too(home: Home) -> None:
    with home("Upgrade it") as grader:
        assert [hit.index for hit in Messages(grader.context).find('"alembic upgrade"').hits] == [1]


def test_a_secret_is_neither_found_nor_shown(home: Home) -> None:
    with home(f"Use {KEY} for wombats") as grader:
        messages = Messages(grader.context)
        assert messages.find(KEY).hits == ()
        (hit,) = messages.find("wombats").hits

    assert hit.excerpt == f"Use {MARK} for wombats"


def test_what_is_not_meant_is_left_out_and_more_is_told(home: Home) -> None:
    with home("wombat one", "wombat two", "wombat three") as grader:
        messages = Messages(grader.context)
        kept = messages.find("wombat", keep=lambda grade: grade.session_id != "s1")
        first = messages.find("wombat", limit=2)

    assert {hit.session_id for hit in kept.hits} == {"s0", "s2"}
    assert (len(first.hits), first.is_more) == (2, True)


def test_no_message_is_lost_where_many_are_looked_through(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(found, "_AT_ONCE", 2)
    with home(*(f"wombat {number}" for number in range(7))) as grader:
        hits = Messages(grader.context).find("wombat").hits

    assert {hit.session_id for hit in hits} == {f"s{number}" for number in range(7)}


def test_of_a_session_that_is_gone_the_place_stays(home: Home, tmp_path: Path) -> None:
    with home("wombat") as grader:
        next((tmp_path / "sessions").iterdir()).unlink()
        (hit,) = Messages(grader.context).find("wombat").hits

    assert (hit.excerpt, hit.role, hit.index) == (None, None, 0)


def test_an_excerpt_is_a_line_with_the_word_in_it_wherever_it_stands(home: Home) -> None:
    with home(f"{'before ' * 300} wombat {'behind ' * 300}") as grader:
        (hit,) = Messages(grader.context).find("wombat").hits

    assert hit.excerpt is not None
    assert "wombat" in hit.excerpt
    assert len(hit.excerpt) <= 202
    assert hit.excerpt[0] == hit.excerpt[-1] == "…"


def test_off_it_says_how_to_turn_it_on_and_has_no_file(home: Home, tmp_path: Path) -> None:
    with home("wombat", days=0) as grader, pytest.raises(InputError, match="is off"):
        Messages(grader.context).find("wombat")

    assert not index_file(tmp_path / "grades.db").exists()


def test_turned_off_again_its_file_goes(home: Home, tmp_path: Path) -> None:
    home("wombat").close()
    with home("wombat", days=0):
        assert not index_file(tmp_path / "grades.db").exists()


def test_what_is_older_than_the_bound_leaves_it(home: Home, tmp_path: Path) -> None:
    home("wombat").close()
    with SelfGrader(settings=settings(tmp_path, 1)) as grader:
        index(grader, later=timedelta(days=30))
        assert Messages(grader.context).find("wombat").hits == ()


def test_what_is_in_it_is_not_read_again(home: Home) -> None:
    with home("wombat") as grader:
        assert not index(grader)


def test_a_text_without_a_word_is_refused(home: Home) -> None:
    with home("wombat") as grader, pytest.raises(InputError, match="no word to search for"):
        Messages(grader.context).find("?!")
