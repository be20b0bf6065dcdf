"""Cline as a source: two files for each session, in a folder of its own.

Its program has ``<id>/<id>.messages.json`` and ``<id>.json`` beside it, and beside both the messages of sub-agents.
The extensions have ``tasks/<id>/api_conversation_history.json``, and ``ui_messages.json`` beside it. All are written
anew as a whole. What is beside the messages is part of the stamp and of the digest, and a change of it touches the
session.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Callable, Sequence
from typing import Final, TypeVar

import msgspec
import xxhash

from grader_daemon.domain.session import Session, Skipped, SkipReason
from grader_daemon.domain.unit import Found, Stamp, Unit
from grader_daemon.errors import VanishedFileError
from grader_daemon.sources.cline.session_messages import NAME, read_session
from grader_daemon.sources.cline.stored_messages import Manifest, MessagesFile, StoredMessage, UiMessage
from grader_daemon.sources.cline.task_history import read_task
from grader_daemon.sources.decoding import UNREADABLE, check_values, decode, mending
from grader_daemon.sources.discovery import Walk
from grader_daemon.sources.file_reading import found_file, look_at, read_file, stamp_of
from grader_daemon.sources.protocol import UnknownKinds
from grader_daemon.sources.session_files import AccompaniedFiles, Beside, Parsed
from grader_daemon.sources.strange_elements import read_without_strange

T = TypeVar("T")

_MESSAGES: Final = ".messages.json"
_HISTORY: Final = "/api_conversation_history.json"
_SCREEN: Final = "/ui_messages.json"
_SIGNS = re.compile(
    rb'"updated_at":\s{0,9}"[^"]{1,40}",\s{0,9}"agent":|"enable_spawn":\s{0,9}(?:true|false)'
    rb'|^\s{0,99}\[\s{0,99}\{\s{0,99}"role":\s{0,9}"user",\s{0,99}"content":\s{0,9}\[\s{0,99}\{\s{0,99}'
    rb'"type":\s{0,9}"text",\s{0,99}"text":\s{0,9}"<(?:task|user_message|feedback)>'
)
_MANIFEST = msgspec.json.Decoder(Manifest).decode
_FILE = msgspec.json.Decoder(MessagesFile).decode
_TASK = msgspec.json.Decoder(tuple[StoredMessage, ...]).decode
_UI = msgspec.json.Decoder(tuple[UiMessage, ...]).decode


class ClineSessions(AccompaniedFiles):
    """The sessions and tasks below the roots."""

    name = NAME
    title = "Cline"
    unknown = frozenset({"finish_reason", "taken_back", "system_prompt_digest", "tools_digest"})

    def claims(self, path: str) -> bool:
        return _is_session(path) or _main_of(path) != path

    def recognizes(self, path: str, beginning: bytes) -> bool:
        return _SIGNS.search(beginning) is not None

    def touched(self, path: str) -> Sequence[Unit]:
        return (Unit(self.name, _main_of(path)),)

    def walk(self, root: str) -> Walk:
        return Walk(root, claims=_is_session, units_of=self._units_of)

    def beside(self, path: str) -> Stamp:
        try:
            return xxhash.xxh3_64_digest(stamp_of(os.lstat(_beside(path))))
        except OSError:
            return xxhash.xxh3_64_digest(b"")

    def read_beside(self, unit: Unit, content: bytes) -> Beside:
        """See `AccompaniedFiles.read_beside`; the content is empty where there is nothing, or no file."""
        place = _beside(unit.locator)
        try:
            status = look_at(place)
            if not stat.S_ISREG(status.st_mode):
                return Beside((b"",))
            found = found_file(Unit(self.name, place), status)
            return Beside((read_file(found, status, limits=self.limits, roots=self.roots),))
        except VanishedFileError:
            return Beside((b"",))

    def parse_all(self, content: bytes, beside: tuple[bytes, ...], unit: Unit) -> Parsed:
        check_values([content, *beside], self.limits)
        return self._decode(content, beside[0], unit)

    def parse(self, content: bytes, unit: Unit) -> Parsed:
        """See `SessionFiles.parse`; of the messages alone."""
        return self._decode(content, b"", unit)

    def _decode(self, content: bytes, beside: bytes, unit: Unit) -> Parsed:
        broken: dict[str, None] = {}

        def read(whole: bytes) -> Session | Skipped:
            session = _session_in(whole, beside, unit, broken)
            return session if session.messages else Skipped(SkipReason.NOT_A_SESSION, session.session_id)

        session = decode(content, read, limits=self.limits)
        version = session.agent_version if isinstance(session, Session) else None
        return Parsed(session, unknown=UnknownKinds(version, tuple(broken)) if broken else None)

    def _units_of(self, path: str, status: os.stat_result) -> tuple[Found]:
        main = _main_of(path)
        return (self.found(Unit(self.name, main), status if main == path else os.lstat(main)),)


def _session_in(content: bytes, beside: bytes, unit: Unit, broken: dict[str, None]) -> Session:
    """Return a session; `broken` is told of messages, and of what lies beside it, that cannot be read."""
    folder, _, name = unit.locator.rpartition("/")

    def read_beside(read: Callable[[bytes], T]) -> T | None:
        try:
            return mending(read, beside) if beside else None
        except UNREADABLE:
            broken[_beside(unit.locator).rpartition("/")[2]] = None
            return None

    if content.lstrip().startswith(b"["):
        task = folder.rpartition("/")[2] if f"/{name}" == _HISTORY else name.rpartition(".")[0] or name
        history = read_without_strange(_TASK, content, broken)
        return read_task(history, read_beside(_UI) or (), unit, task=task)
    file = read_without_strange(_FILE, content, broken)
    named = name.removesuffix(_MESSAGES)
    return read_session(file, read_beside(_MANIFEST), unit, named=named, folder=folder.rpartition("/")[2])


def _is_session(path: str) -> bool:
    return path.endswith((_MESSAGES, _HISTORY))


def _main_of(path: str) -> str:
    """Return the file with the messages that a file beside them belongs to; the file itself if it is none of those."""
    folder, _, name = path.rpartition("/")
    if f"/{name}" == _SCREEN:
        return folder + _HISTORY
    stem = folder.rpartition("/")[2]
    return f"{folder}/{stem}{_MESSAGES}" if stem and name == f"{stem}.json" else path


def _beside(path: str) -> str:
    """Return the file beside a session that belongs to it."""
    folder = path.rpartition("/")[0]
    return folder + _SCREEN if path.endswith(_HISTORY[1:]) else f"{folder}/{folder.rpartition('/')[2]}.json"
