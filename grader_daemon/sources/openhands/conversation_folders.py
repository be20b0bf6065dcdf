"""Folders of conversations of OpenHands: ``base_state.json``, and ``events/event-00000-<id>.json`` beside it."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Sequence

import xxhash

from grader_daemon.domain.limits import Limits
from grader_daemon.domain.unit import Found, Unit
from grader_daemon.errors import ChangingFileError, ParseError, VanishedFileError
from grader_daemon.sources.file_reading import found_file, look_at, read_as_is, stamp_of

STATE = "base_state.json"
_EVENTS = "events"
_EVENT = re.compile(r"event-\d{5,9}-[0-9a-fA-F-]{8,64}\.json")


def state_of(path: str) -> str | None:
    """Return the state of the conversation that a file is a part of; None where it is of none."""
    folder, _, name = path.rpartition("/")
    if name == STATE:
        return path
    above, _, events = folder.rpartition("/")
    return f"{above}/{STATE}" if events == _EVENTS and _EVENT.fullmatch(name) is not None else None


def look_at_conversation(unit: Unit) -> Found:
    """Return a conversation as its state and the folder of its events stand; an event is written once.

    Raises:
        VanishedFileError, ReadError: see `Source.look`.
    """
    status = look_at(unit.locator)
    found = found_file(unit, status)
    stamps, written_ns = [found.stamp], found.written_ns
    try:
        events = look_at(_events_of(unit.locator))
        stamps.append(stamp_of(events))
        written_ns = max(written_ns, events.st_mtime_ns)
    except VanishedFileError:
        pass  # none yet
    return Found(unit, xxhash.xxh3_128_digest(b"".join(stamps)), written_ns)


def read_conversation_files(found: Found, *, roots: Sequence[str], limits: Limits) -> tuple[bytes, list[bytes]]:
    """Return the content of the state, and that of each event in order.

    Raises:
        VanishedFileError, ChangingFileError, ReadError, ParseError: see `Source.read`.
    """
    unit = found.unit
    paths = [unit.locator, *_files_in(_events_of(unit.locator))]
    if len(paths) > limits.messages:
        raise ParseError(f"it has more files than max_messages = {limits.messages:,}")
    contents: list[bytes] = []
    size = 0
    for path in paths:
        contents.append(read_as_is(path, limits=limits, roots=roots))
        size += len(contents[-1])
        if size > limits.bytes:
            raise ParseError(f"its files are more than max_file_bytes = {limits.bytes:,}")
    if look_at_conversation(unit).stamp != found.stamp:
        raise ChangingFileError("the conversation was written to while it was read")
    return contents[0], contents[1:]


def size_of_conversation(unit: Unit) -> int:
    """Return about how many bytes it has; 0 where that cannot be told."""
    try:
        return sum(os.lstat(path).st_size for path in (unit.locator, *_files_in(_events_of(unit.locator))))
    except OSError:
        return 0  # whoever reads it says what is wrong


def _events_of(state: str) -> str:
    return os.path.join(os.path.dirname(state), _EVENTS)


def _files_in(folder: str) -> list[str]:
    """Return the events in their order; none through a link in place of their folder."""
    try:
        if not stat.S_ISDIR(os.lstat(folder).st_mode):
            return []
        with os.scandir(folder) as entries:
            names = [entry.name for entry in entries if _EVENT.fullmatch(entry.name) is not None]
    except FileNotFoundError:
        return []
    return [os.path.join(folder, name) for name in sorted(names, key=lambda name: (len(name.split("-")[1]), name))]
