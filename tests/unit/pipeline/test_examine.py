from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import AbstractContextManager
from datetime import UTC, timedelta
from importlib.metadata import version
from pathlib import Path
from typing import Any, cast

import msgspec
import pytest

from grader_daemon.domain.analysis import SessionState
from grader_daemon.domain.ledger import FileState, LedgerEntry
from grader_daemon.domain.rules import Rules
from grader_daemon.domain.session import Session, SkipReason, Usage
from grader_daemon.domain.unit import Found, shown_path
from grader_daemon.domain.verdict import CompletionPolicy
from grader_daemon.pipeline.examine import (
    Examiner,
    GradedUnit,
    SkippedUnit,
    TroubledUnit,
    UnchangedUnit,
    VanishedUnit,
)
from grader_daemon.sources.protocol import Read, Source, Sources
from tests.conftest import IDLE, LIMITS, MAX_BYTES, SessionWriter
from tests.e2e.session_files import PERMISSION_DENIED
from tests.strategies import NOW, SESSION_ID, document, json_answer, json_round, json_user
from tests.units import hermes, unit

TURN = [json_user(), *json_round(), json_answer()]
OPEN_TURN = [json_user(), *json_round()]


def graded(examiner: Examiner, path: str) -> GradedUnit:
    examined = examiner.examine(unit(path), now=NOW)
    assert isinstance(examined, GradedUnit)
    return examined


def entry_of(examined: GradedUnit, *, state: FileState = FileState.GRADED, made_by: str | None = None) -> LedgerEntry:
    """The row that a graded file gets."""
    return LedgerEntry(
        unit=examined.unit,
        stamp=examined.found.stamp,
        written_ns=examined.found.written_ns,
        state=state,
        digest=examined.digest,
        session_id=examined.grade.session_id,
        look_again_at=examined.look_again_at,
        rules_version=made_by or examined.grade.rules_version,
    )


def test_a_session_is_graded(examiner: Examiner, write_session: SessionWriter) -> None:
    examined = graded(examiner, write_session(TURN))
    assert (examined.grade.session_id, examined.grade.state, examined.grade.graded_at) == (
        SESSION_ID,
        SessionState.COMPLETE,
        NOW,
    )
    assert examined.look_again_at is None
    assert (examined.identity.messages, examined.identity.unit) == (4, examined.unit)


def test_reasons_from_another_process_are_the_same_to_the_byte(
    examiner: Examiner, write_session: SessionWriter
) -> None:
    path = write_session([json_user(), *json_round(PERMISSION_DENIED), json_answer()])

    here = graded(examiner, path)

    sent = msgspec.msgpack.decode(msgspec.msgpack.encode(here), type=GradedUnit)
    assert msgspec.json.encode(sent.grade.reasons) == msgspec.json.encode(here.grade.reasons)


def test_an_open_session_is_looked_at_again_when_it_was_idle(examiner: Examiner, write_session: SessionWriter) -> None:
    examined = graded(examiner, write_session(OPEN_TURN))
    assert (examined.grade.state, examined.look_again_at) == (SessionState.OPEN, NOW + IDLE)


@pytest.mark.parametrize(
    ("later", "state"),
    [
        pytest.param(IDLE - timedelta(seconds=1), SessionState.OPEN, id="not-quite-idle"),
        pytest.param(IDLE, SessionState.INTERRUPTED, id="idle"),
    ],
)
def test_an_open_session_is_interrupted_after_the_idle_time(
    later: timedelta, state: SessionState, examiner: Examiner, write_session: SessionWriter
) -> None:
    examined = examiner.examine(unit(write_session(OPEN_TURN)), now=NOW + later)
    assert isinstance(examined, GradedUnit)
    assert examined.grade.state is state


@pytest.mark.parametrize(
    ("name", "folder", "reason"),
    [
        pytest.param("request_dump_a_b.json", "sessions", SkipReason.REQUEST_DUMP, id="request-dump"),
        pytest.param("sessions.json", "sessions", SkipReason.SESSION_INDEX, id="session-index"),
        pytest.param("a.jsonl", "sessions", SkipReason.GATEWAY_TRANSCRIPT, id="transcript"),
        pytest.param("hermes_conversation_1.json", "sessions/saved", SkipReason.SAVED_COPY, id="saved-copy"),
    ],
)
def test_a_companion_is_skipped_unread(
    name: str, folder: str, reason: SkipReason, examiner: Examiner, write_session: SessionWriter
) -> None:
    examined = examiner.examine(unit(write_session(name=name, folder=folder, content=b"\0" * (MAX_BYTES + 1))), now=NOW)
    assert isinstance(examined, SkippedUnit)
    assert (examined.skipped.reason, examined.digest) == (reason, None)


def test_what_is_no_session_is_skipped(examiner: Examiner, write_session: SessionWriter) -> None:
    examined = examiner.examine(unit(write_session(content=b'{"session_id": "a"}')), now=NOW)
    assert isinstance(examined, SkippedUnit)
    assert examined.skipped.reason is SkipReason.NOT_A_SESSION
    assert examined.digest is not None


def test_a_symbolic_link_is_skipped(examiner: Examiner, write_session: SessionWriter, tmp_path: Path) -> None:
    link = tmp_path / "session_link.json"
    link.symlink_to(write_session(TURN))
    examined = examiner.examine(unit(link), now=NOW)
    assert isinstance(examined, SkippedUnit)
    assert examined.skipped.reason is SkipReason.SYMBOLIC_LINK


@pytest.mark.parametrize(
    ("content", "hope"),
    [
        pytest.param(b"", True, id="empty"),
        pytest.param(document(TURN)[:100], True, id="truncated"),
        pytest.param(b"Dear diary", False, id="prose"),
        pytest.param(b"[]", False, id="list"),
        pytest.param(b"x" * (MAX_BYTES + 1), False, id="too-large"),
    ],
)
def test_trouble_tells_whether_trying_again_can_help(
    content: bytes, hope: bool, examiner: Examiner, write_session: SessionWriter
) -> None:
    examined = examiner.examine(unit(write_session(content=content)), now=NOW)
    assert isinstance(examined, TroubledUnit)
    assert (examined.hope, examined.always) == (hope, False)


def test_a_pipe_is_not_opened(examiner: Examiner, tmp_path: Path) -> None:
    path = tmp_path / "session_pipe.json"
    os.mkfifo(path)
    examined = examiner.examine(unit(path), now=NOW)
    assert isinstance(examined, TroubledUnit)
    assert (examined.error, examined.hope) == ("not a regular file", False)


def test_a_folder_is_no_session(examiner: Examiner, tmp_path: Path) -> None:
    path = tmp_path / "session_folder.json"
    path.mkdir()
    examined = examiner.examine(unit(path), now=NOW)
    assert isinstance(examined, TroubledUnit)
    assert not examined.hope


@pytest.mark.parametrize("closed", [pytest.param("folder", id="folder"), pytest.param("file", id="file")])
def test_what_may_not_be_read_is_tried_again_without_end(
    closed: str,
    examiner: Examiner,
    write_session: SessionWriter,
    without_rights: Callable[[], AbstractContextManager[None]],
) -> None:
    path = Path(write_session(TURN, folder="closed"))
    shut = path if closed == "file" else path.parent
    shut.chmod(0)
    with without_rights():
        examined = examiner.examine(unit(path), now=NOW)
    shut.chmod(0o700)
    assert isinstance(examined, TroubledUnit)
    assert (examined.hope, examined.always) == (True, True)
    assert "permission denied" in examined.error


def test_a_name_that_is_no_text_is_told_in_printable_words(examiner: Examiner, tmp_path: Path) -> None:
    raw = os.fsencode(tmp_path) + b"/session_\xff.json"
    Path(os.fsdecode(raw)).write_bytes(document(TURN))
    examined = examiner.examine(unit(os.fsdecode(raw)), now=NOW)
    assert isinstance(examined, TroubledUnit)
    assert (examined.unit, examined.hope) == (unit(f"{tmp_path}/session_\\xff.json"), False)
    assert "not UTF-8" in examined.error


def test_an_odd_name_that_is_text_is_graded(examiner: Examiner, write_session: SessionWriter) -> None:
    assert graded(examiner, write_session(TURN, name="session_a\nb.json")).unit.locator.endswith("session_a\nb.json")


def test_a_vanished_file_is_not_a_failure(examiner: Examiner, tmp_path: Path) -> None:
    path = str(tmp_path / "session_gone.json")
    assert examiner.examine(unit(path), now=NOW) == VanishedUnit(unit=unit(path))


def test_the_same_content_is_not_graded_twice(examiner: Examiner, write_session: SessionWriter) -> None:
    first = graded(examiner, write_session(TURN))
    os.utime(first.unit.locator, (NOW.timestamp() + 9, NOW.timestamp() + 9))
    second = examiner.examine(first.unit, now=NOW, known=entry_of(first))
    assert isinstance(second, UnchangedUnit)
    assert second.found.stamp != first.found.stamp


def test_a_skipped_file_is_not_judged_twice(examiner: Examiner, write_session: SessionWriter) -> None:
    first = graded(examiner, write_session(TURN))
    known = entry_of(first, state=FileState.SKIPPED, made_by="other")
    assert isinstance(examiner.examine(first.unit, now=NOW, known=known), UnchangedUnit)


@pytest.mark.parametrize(
    ("state", "made_by"),
    [
        pytest.param(FileState.GRADED, "other", id="other-rules"),
        pytest.param(FileState.RETRY, None, id="in-trouble-before"),
        pytest.param(FileState.DEAD, None, id="given-up-before"),
    ],
)
def test_the_same_content_is_graded_again_if_the_row_is_not_settled(
    state: FileState, made_by: str | None, examiner: Examiner, write_session: SessionWriter
) -> None:
    first = graded(examiner, write_session(TURN))
    known = entry_of(first, state=state, made_by=made_by)
    assert isinstance(examiner.examine(first.unit, now=NOW, known=known), GradedUnit)


def test_changed_content_is_graded_again(examiner: Examiner, write_session: SessionWriter) -> None:
    first = graded(examiner, write_session(OPEN_TURN))
    write_session(TURN)
    second = examiner.examine(first.unit, now=NOW, known=entry_of(first))
    assert isinstance(second, GradedUnit)
    assert second.grade.state is SessionState.COMPLETE


@pytest.mark.parametrize(
    ("later", "kind"),
    [
        pytest.param(IDLE - timedelta(seconds=1), UnchangedUnit, id="not-yet"),
        pytest.param(IDLE, GradedUnit, id="due"),
    ],
)
def test_an_unchanged_open_session_is_graded_again_when_due(
    later: timedelta, kind: type, examiner: Examiner, write_session: SessionWriter
) -> None:
    first = graded(examiner, write_session(OPEN_TURN))
    assert isinstance(examiner.examine(first.unit, now=NOW + later, known=entry_of(first)), kind)


@pytest.mark.parametrize(
    ("path", "text"),
    [
        pytest.param("/s/a.json", "/s/a.json", id="plain"),
        pytest.param("/s/漢字.json", "/s/漢字.json", id="text"),
        pytest.param("/s/\udcff.json", "/s/\\xff.json", id="no-text"),
    ],
)
def test_printable_paths(path: str, text: str) -> None:
    assert shown_path(path) == text


class _Metered:
    """A source that reads one session as Hermes does, and says of it what its agent noted of tokens and money."""

    def __init__(self, known: Source, *, usage: tuple[Usage, ...], cost_usd: float | None) -> None:
        self._known = known
        self._noted = {"usage": usage, "cost_usd": cost_usd}

    def __getattr__(self, name: str) -> object:
        return getattr(self._known, name)

    def read(self, found: Found, *, unless: str | None = None) -> Read:
        read = self._known.read(found, unless=unless)
        assert isinstance(read.session, Session)
        noted = msgspec.structs.replace(read.session, **cast("dict[str, Any]", self._noted))
        return Read(read.digest, noted)


_TWO_CALLS = (
    Usage(model="gpt-5", input_tokens=1_000_000, cache_read_tokens=0, cache_write_tokens=0, output_tokens=0),
    Usage(model="gpt-5-mini", input_tokens=1_000_000, cache_read_tokens=0, cache_write_tokens=0, output_tokens=0),
)
"""1.25 $ and 0.25 $ by the lists."""
_HERE = Usage(model="local", input_tokens=5, output_tokens=5)


@pytest.mark.parametrize(
    ("usage", "noted", "expected"),
    [
        pytest.param(_TWO_CALLS, None, (1.5, f"genai-prices {version('genai-prices')}"), id="by-the-lists"),
        pytest.param(_TWO_CALLS, 0.2, (0.2, "agent"), id="the-word-of-the-agent-wins"),
        pytest.param((), 0.2, (0.2, "agent"), id="money-without-tokens"),
        pytest.param((*_TWO_CALLS, _HERE), None, (None, None), id="one-model-unknown"),
        pytest.param(_TWO_CALLS, float("nan"), (None, None), id="no-number"),
        pytest.param(_TWO_CALLS, -1.0, (None, None), id="less-than-nothing"),
        pytest.param((), None, (None, None), id="nothing-noted"),
    ],
)
def test_a_session_has_the_price_that_is_known(
    rules: Rules,
    write_session: SessionWriter,
    usage: tuple[Usage, ...],
    noted: float | None,
    expected: tuple[float | None, str | None],
) -> None:
    known = hermes(limits=LIMITS)
    path = write_session(TURN)
    source = cast("Source", _Metered(known.of(unit(path)), usage=usage, cost_usd=noted))
    examiner = Examiner(rules, CompletionPolicy(), Sources([source]), zone=UTC, idle=IDLE, limits=LIMITS)

    grade = graded(examiner, path).grade

    assert (grade.cost_usd, grade.cost_by) == expected


def test_tokens_that_nobody_can_have_used_are_unknown(rules: Rules, write_session: SessionWriter) -> None:
    used = (Usage(model="gpt-5", input_tokens=10**13, output_tokens=-1, cache_read_tokens=7),)
    known = hermes(limits=LIMITS)
    path = write_session(TURN)
    source = cast("Source", _Metered(known.of(unit(path)), usage=used, cost_usd=None))
    examiner = Examiner(rules, CompletionPolicy(), Sources([source]), zone=UTC, idle=IDLE, limits=LIMITS)

    grade = graded(examiner, path).grade

    assert (grade.input_tokens, grade.output_tokens, grade.cache_read_tokens) == (None, None, 7)
