from __future__ import annotations

from datetime import UTC
from pathlib import Path
from typing import Any

import pytest
import xxhash

from grader_daemon.domain.limits import Limits
from grader_daemon.domain.session import Session, Skipped, SkipReason
from grader_daemon.domain.unit import Unit
from grader_daemon.errors import ParseError, VanishedFileError
from grader_daemon.sources.hermes.hermes_source import HermesSnapshots
from grader_daemon.sources.protocol import Read, UnknownKinds
from tests.strategies import document, json_answer, json_user
from tests.units import hermes, unit


@pytest.mark.parametrize(
    "messages",
    [
        pytest.param([json_user(), json_answer()], id="session"),
        pytest.param(
            [json_user(), json_user("Review the conversation above and update the skill library")], id="review-fork"
        ),
    ],
)
def test_an_id_that_holds_a_secret_leaves_the_file_without_it(messages: list[dict[str, Any]], tmp_path: Path) -> None:
    content = document(messages, session_id="web?token=a1b2c3d4e5f6g7&n=1\n")

    path = tmp_path / "session_x.json"
    path.write_bytes(content)

    read = hermes().read(unit(path)).session

    # the first twelve digits of `printf 'web?token=a1b2c3d4e5f6g7&n=1\n' | sha256sum`
    assert read is not None
    assert read.session_id == "web?token=[redacted]&n=1\ufffd-d3d3cee6d8e9"


def test_a_file_without_an_id_has_none(tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    path.write_bytes(b"{}")

    assert hermes().read(unit(path)) == Read(xxhash.xxh3_128_hexdigest(b"{}"), Skipped(SkipReason.NOT_A_SESSION))


def test_messages_that_cannot_be_read_are_told_and_the_session_is_read_without(tmp_path: Path) -> None:
    path = tmp_path / "session_x.json"
    path.write_bytes(document([json_user(), {**json_answer(), "tool_call_id": 7}, json_answer("Done.")]))

    read = hermes().read(unit(path))

    assert isinstance(read.session, Session)
    assert [message.text for message in read.session.messages[1:]] == ["Done."]
    assert read.unknown == UnknownKinds(None, ("messages[].tool_call_id",))


def test_content_of_a_digest_that_is_known_is_not_decoded(tmp_path: Path) -> None:
    path = tmp_path / "session_x.json"
    path.write_bytes(b"Dear diary")
    source, digest = HermesSnapshots(zone=UTC, limits=Limits()), xxhash.xxh3_128_hexdigest(b"Dear diary")

    assert source.read(source.look(unit(path)), unless=digest) == Read(digest, None)
    with pytest.raises(ParseError):
        source.read(source.look(unit(path)), unless="another")


def test_a_file_outside_its_folders_is_nothing_that_changes() -> None:
    assert hermes(["/s"]).touched("/elsewhere/session_a.json") == ()
    assert hermes(["/s"]).named("/elsewhere/session_a.json") == (unit("/elsewhere/session_a.json"),)


def test_a_file_that_a_change_touches_is_one_unit() -> None:
    assert hermes(["/s"]).touched("/s/session_a.json") == (unit("/s/session_a.json"),)
    assert hermes().touched("/s/notes.json") == ()


def test_what_a_person_names_is_read_whatever_its_name_is() -> None:
    assert hermes().named("/s/notes.json") == (unit("/s/notes.json"),)


def test_a_unit_of_a_source_that_is_not_set_up_is_gone() -> None:
    with pytest.raises(VanishedFileError, match="there is no source nowhere"):
        hermes().look(Unit("nowhere", "/s/a"))
