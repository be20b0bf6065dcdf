from __future__ import annotations

from pathlib import Path

import pytest

from grader_daemon.domain.limits import Limits
from grader_daemon.errors import ParseError, VanishedFileError
from grader_daemon.pipeline import rereading
from grader_daemon.pipeline.ingest import Ingest
from grader_daemon.pipeline.rereading import RecentSessions, Reread, read_again
from grader_daemon.storage.sqlite.store import SqliteStore
from tests.conftest import SessionWriter
from tests.e2e.session_files import turns
from tests.strategies import SESSION_ID, grade
from tests.units import hermes, unit


def reread(path: str, *, most_bytes: int = 1_000_000, root: str = "/sessions") -> Reread:
    return read_again(grade(session_file=path), hermes([root], limits=Limits(bytes=most_bytes)))


def test_the_session_is_given_with_the_digest_that_it_was_graded_with(
    write_session: SessionWriter, ingest: Ingest, store: SqliteStore
) -> None:
    path = write_session(turns())
    ingest.ingest([unit(path)], within_seconds=1)

    again = reread(path)

    assert again.session.session_id == SESSION_ID
    assert store.rows("SELECT digest FROM session_details") == [(again.digest,)]


def test_a_file_that_is_gone_is_told(write_session: SessionWriter) -> None:
    path = Path(write_session(turns()))
    path.unlink()

    with pytest.raises(VanishedFileError):
        reread(str(path))


def test_a_folder_that_is_swapped_for_a_link_is_not_followed(write_session: SessionWriter, tmp_path: Path) -> None:
    path = write_session(turns(), folder="root/a")
    swapped = Path(path).parent
    swapped.rename(tmp_path / "outside")
    swapped.symlink_to(tmp_path / "outside")

    with pytest.raises(VanishedFileError):
        reread(path, root=str(swapped.parent))


@pytest.mark.parametrize(
    ("content", "words"),
    [
        pytest.param(b"", "", id="nothing"),
        pytest.param(b'{"a": 1}', "no longer a session", id="something-else"),
        pytest.param(None, "now contains another session", id="another-session"),
    ],
)
def test_a_file_that_holds_something_else_is_told(
    write_session: SessionWriter, content: bytes | None, words: str
) -> None:
    path = write_session(turns(), name="session_x.json", content=content, session_id="20261121_220000_other1")

    with pytest.raises(ParseError) as caught:
        reread(path)

    assert words in str(caught.value)


def test_a_file_that_is_too_large_is_not_read(write_session: SessionWriter) -> None:
    with pytest.raises(ParseError, match="more than max_file_bytes"):
        reread(write_session(turns()), most_bytes=10)


def test_a_session_that_is_asked_for_again_is_read_once(write_session: SessionWriter) -> None:
    path = write_session(turns())
    recent = RecentSessions(hermes(["/sessions"]))

    first = recent.read(grade(session_file=path))

    assert recent.read(grade(session_file=path)) is first


def test_a_session_that_went_on_is_read_again(write_session: SessionWriter) -> None:
    path = write_session(turns(1))
    recent = RecentSessions(hermes(["/sessions"]))
    recent.read(grade(session_file=path))

    write_session(turns(2))

    assert len(recent.read(grade(session_file=path)).session.messages) == len(turns(2))


def test_another_session_in_the_same_file_is_not_taken_for_the_one_that_was_read(write_session: SessionWriter) -> None:
    path = write_session(turns())
    recent = RecentSessions(hermes(["/sessions"]))
    recent.read(grade(session_file=path))

    with pytest.raises(ParseError, match="now contains another session"):
        recent.read(grade(session_file=path, session_id="20261121_220000_other1"))


def test_a_session_that_is_gone_is_told_though_it_was_read(write_session: SessionWriter) -> None:
    path = Path(write_session(turns()))
    recent = RecentSessions(hermes(["/sessions"]))
    recent.read(grade(session_file=str(path)))
    path.unlink()

    with pytest.raises(VanishedFileError):
        recent.read(grade(session_file=str(path)))


@pytest.mark.parametrize(
    ("most_sessions", "most_files"),
    [
        pytest.param(2, 100, id="too-many"),
        pytest.param(100, 2, id="too-large"),
    ],
)
def test_what_was_asked_for_longest_ago_is_forgotten(
    write_session: SessionWriter, monkeypatch: pytest.MonkeyPatch, most_sessions: int, most_files: int
) -> None:
    names = [f"20261121_220000_{name}" for name in ("aaaaaa", "bbbbbb", "cccccc")]
    grades = [
        grade(session_id=name, session_file=write_session(turns(), name=f"session_{name}.json", session_id=name))
        for name in names
    ]
    size = Path(grades[0].session_file).stat().st_size
    monkeypatch.setattr(rereading, "MOST_KEPT", most_sessions)
    monkeypatch.setattr(rereading, "MOST_KEPT_BYTES", most_files * size)
    recent = RecentSessions(hermes(["/sessions"]))

    first, second, third = (recent.read(each) for each in grades)

    assert recent.read(grades[2]) is third
    assert recent.read(grades[1]) is second
    assert recent.read(grades[0]) is not first
