"""The index of messages: what is found in it, in which order, and that nothing of a forgotten session is left."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from datetime import timedelta
from pathlib import Path

import pytest

from grader_daemon.errors import StoreError
from grader_daemon.messages.store import MessageIndex, Place, index_file, remove
from tests.strategies import NOW


@pytest.fixture
def index(tmp_path: Path) -> Iterator[MessageIndex]:
    with closing(MessageIndex(tmp_path / "grades.db")) as opened:
        yield opened


@pytest.mark.parametrize(
    ("words", "found"),
    [
        pytest.param("alembic upgrade", True, id="both-words"),
        pytest.param("ALEM upgr", True, id="beginnings"),
        pytest.param('"alembic upgrade"', True, id="one-behind-the-other"),
        pytest.param('"upgrade alembic"', False, id="the-other-way-round"),
        pytest.param("alembic downgrade", False, id="one-that-is-not-there"),
        pytest.param('"alem upgrade"', False, id="no-beginnings-in-quotes"),
        pytest.param('NEAR(alembic OR "', False, id="no-query-language"),
        pytest.param("…", False, id="no-word"),
    ],
)
def test_words_are_found_in_the_message_that_has_all_of_them(index: MessageIndex, words: str, found: bool) -> None:
    index.add("a", "1", NOW, ["Hello", "Run Alembic upgrade head"])

    assert list(index.find(words)) == ([Place("a", 1)] if found else [])


def test_the_newest_sessions_are_found_first_whenever_they_were_put_in(index: MessageIndex) -> None:
    for name, days in (("new", 0), ("old", 9), ("middle", 3), ("same", 3)):
        index.add(name, "1", NOW - timedelta(days=days), ["word", "", "word"])

    assert list(dict.fromkeys(place.session_id for place in index.find("word"))) == ["new", "same", "middle", "old"]
    assert [place.message for place in index.find("word")][:2] == [2, 0]


def test_a_session_that_went_on_takes_its_own_place(index: MessageIndex) -> None:
    index.add("a", "1", NOW, ["before"])
    index.add("a", "2", NOW, ["since", "then"])

    assert list(index.find("before")) == []
    assert list(index.find("then")) == [Place("a", 1)]
    assert index.digests() == {"a": "2"}


def test_nothing_of_a_forgotten_session_is_left_in_the_file(index: MessageIndex, tmp_path: Path) -> None:
    index.add("a", "1", NOW, ["supercalifragilistic"])
    index.add("b", "1", NOW, ["word"])
    index.forget(["a", "never there"])
    index.close()

    file = index_file(tmp_path / "grades.db")
    assert b"supercali" not in file.read_bytes()
    assert file.stat().st_mode & 0o777 == 0o600


def test_it_is_deleted_whole_and_a_second_time_without_a_word(index: MessageIndex, tmp_path: Path) -> None:
    index.add("a", "1", NOW, ["word"])
    index.close()
    for _ in range(2):
        remove(tmp_path / "grades.db")

    assert list(tmp_path.glob("*messages*")) == []


def test_a_file_that_is_no_index_is_told_with_what_to_do(tmp_path: Path) -> None:
    index_file(tmp_path / "grades.db").write_bytes(b"no database" * 100)

    with pytest.raises(StoreError, match="delete it to start again"):
        MessageIndex(tmp_path / "grades.db")
