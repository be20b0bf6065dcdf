"""ATIF as a source: the ``trajectory.json`` of each run below the roots, what continues it, and its reward.

Whoever converts their own sessions has no folders of trials: there ``<name>.atif.json`` is a run, and ``*.atif.jsonl``
holds one on each line.

The reward comes after the run, in a file beside it. So what lies beside a trajectory is part of its stamp and of its
digest, and a change of it touches the trajectory.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator, Sequence
from functools import partial

import msgspec
import xxhash

from grader_daemon.domain.limits import Limits
from grader_daemon.domain.session import Session, Skipped, SkipReason
from grader_daemon.domain.unit import Found, Stamp, Unit
from grader_daemon.errors import ParseError, VanishedFileError
from grader_daemon.sources.atif.rewards import REWARD_FILES, read_reward
from grader_daemon.sources.atif.trajectory import CONTINUATION, NAME, Version, read_run
from grader_daemon.sources.atif.trajectory_lines import LINES, TrajectoryLines
from grader_daemon.sources.decoding import check_values, decode, decoded_or, mending
from grader_daemon.sources.discovery import Walk
from grader_daemon.sources.file_reading import found_file, look_at, read_as_is, stamp_of
from grader_daemon.sources.protocol import Read, UnknownKinds
from grader_daemon.sources.session_files import AccompaniedFiles, Beside, Parsed

_TRAJECTORY = "trajectory.json"
_AGENT_FOLDER = "agent"
_MOST_DOCUMENTS = 100
"""Most documents of one run."""

_NAMED = (".atif.json", ".atif.jsonl")
"""Ends of the names of runs that lie in no folder of their own."""

_RECOGNIZED = re.compile(rb'"schema_version"\s{0,99}:\s{0,99}"ATIF-')
_REWARD_NAMES = tuple(f"/{name}" for name in REWARD_FILES)


class _Head(Version, frozen=True):
    continued_trajectory_ref: object = None


_HEAD = msgspec.json.Decoder(_Head).decode
_NO_HEAD = _Head()
"""That of a document that cannot be read; whoever decodes it says what is wrong."""


class AtifTrials(AccompaniedFiles):
    """Runs below the roots; there are none unless a person names some, for anybody may write the format anywhere."""

    name = NAME
    title = "ATIF"
    unknown = frozenset({"finish_reason", "platform", "system_prompt_digest", "taken_back", "tools_digest"})
    rewarded = True

    def __init__(self, roots: Sequence[str] = (), *, limits: Limits) -> None:
        """See `SessionFiles`."""
        super().__init__(roots, limits=limits)
        self._lines = TrajectoryLines(tuple(roots), limits)

    def claims(self, path: str) -> bool:
        name = path.rpartition("/")[2]
        return _is_run(path) or CONTINUATION.fullmatch(name) is not None or path.endswith(_REWARD_NAMES)

    def recognizes(self, path: str, beginning: bytes) -> bool:
        return _RECOGNIZED.search(beginning) is not None

    def touched(self, path: str) -> Sequence[Unit]:
        folder, _, name = path.rpartition("/")
        if CONTINUATION.fullmatch(name) is not None:
            return (Unit(self.name, f"{folder}/{_TRAJECTORY}"),)
        for reward in REWARD_FILES:
            if path.endswith(f"/{reward}"):
                trial = path.removesuffix(f"/{reward}")
                places = (f"{trial}/{_AGENT_FOLDER}/{_TRAJECTORY}", f"{trial}/{_TRAJECTORY}")
                return [Unit(self.name, place) for place in places if os.path.lexists(place)]
        return (Unit(self.name, path),)

    def walk(self, root: str) -> Walk:
        return Walk(root, claims=_is_run, units_of=self._units_of)

    def found(self, unit: Unit, status: os.stat_result) -> Found:
        """See `AccompaniedFiles.found`; nothing lies beside files of lines."""
        return found_file(unit, status) if unit.locator.endswith(LINES) else super().found(unit, status)

    def beside(self, path: str) -> Stamp:
        return _beside(path)

    def read(self, found: Found, *, unless: str | None = None) -> Read:
        if found.unit.locator.endswith(LINES):
            status = look_at(found.unit.locator)
            if not stat.S_ISLNK(status.st_mode):
                return self._lines.read(found, status, unless=unless)
        return super().read(found, unless=unless)

    def read_beside(self, unit: Unit, content: bytes) -> Beside:
        """See `AccompaniedFiles.read_beside`; the content is that of documents that continue the first."""
        alone = unit.key or _is_alone(unit.locator)
        reward = None if alone else read_reward(_trial_of(unit.locator), self.roots)
        return Beside(tuple(self._continuations(unit.locator, content)), reward)

    def parse_all(self, content: bytes, beside: tuple[bytes, ...], unit: Unit) -> Parsed:
        return self._parse([content, *beside], unit)

    def parse(self, content: bytes, unit: Unit) -> Parsed:
        """See `SessionFiles.parse`; of the document alone."""
        return self._parse([content], unit)

    def _parse(self, documents: Sequence[bytes], unit: Unit) -> Parsed:
        inside: list[Unit] = []
        unknown: list[UnknownKinds] = []
        strange: dict[str, None] = {}

        def read(first: bytes) -> Session | Skipped:
            head = _HEAD(first)
            if not head.is_run:
                return Skipped(SkipReason.NOT_A_SESSION)
            if head.unreadable is not None:
                unknown.append(UnknownKinds(head.unreadable, ()))
                return Skipped(SkipReason.UNREADABLE_VERSION)
            sessions = read_run(documents, path=unit.locator, named=_name_of(unit.locator), passed_over=strange)
            if unit.key not in sessions:
                raise VanishedFileError("the sub-agent is gone")
            if not unit.key:
                inside.extend(Unit(unit.source, unit.locator, key) for key in sessions if key)
            session = sessions[unit.key]
            return session if session.messages else Skipped(SkipReason.NOT_A_SESSION, session.session_id)

        check_values(documents, self.limits)
        session = decode(documents[0], read, limits=self.limits)
        if strange:
            version = session.agent_version if isinstance(session, Session) else None
            unknown.append(UnknownKinds(version, tuple(strange)))
        return Parsed(session, tuple(inside), unknown[0] if unknown else None)

    def _continuations(self, path: str, first: bytes) -> Iterator[bytes]:
        """Yield the documents that continue the first, each named by the one before; one that is not there ends them.

        Raises:
            ParseError: they are larger together than a file may be.
        """
        folder, content, size = path.rpartition("/")[0], first, len(first)
        seen: set[str] = set()
        while len(seen) < _MOST_DOCUMENTS:
            name = _next_of(content)
            if name is None or name in seen:
                return
            seen.add(name)
            place = f"{folder}/{name}"
            try:
                content = read_as_is(place, limits=self.limits, roots=self.roots)
            except VanishedFileError:
                return
            size += len(content)
            if size > self.limits.bytes:
                raise ParseError(f"{size:,} bytes are more than max_file_bytes = {self.limits.bytes:,}")
            yield content


def _is_run(path: str) -> bool:
    return path.endswith((f"/{_TRAJECTORY}", *_NAMED))


def _is_alone(path: str) -> bool:
    """Return whether several runs may lie in one folder, so that what lies beside this one is not its own."""
    return path.endswith(_NAMED)


def _name_of(path: str) -> str:
    """Return what a run is called that does not say it: as its file, or as the folder of its trial."""
    if _is_alone(path):
        return os.path.basename(path).removesuffix(".json").removesuffix(".atif")
    return os.path.basename(_trial_of(path))


def _trial_of(path: str) -> str:
    """Return the folder of the trial of which a trajectory is a part."""
    folder = os.path.dirname(path)
    return os.path.dirname(folder) if os.path.basename(folder) == _AGENT_FOLDER else folder


def _beside(path: str) -> Stamp:
    """Return what tells the files beside a trajectory that belong to it from others."""
    folder = os.path.dirname(path)
    numbered = (f"{folder}/trajectory.cont-{number}.json" for number in range(1, _MOST_DOCUMENTS))
    rewards = (f"{_trial_of(path)}/{name}" for name in REWARD_FILES)
    stamps = [*_stamps(rewards, stop=False), *_stamps(numbered, stop=True)]
    return xxhash.xxh3_64_digest(b"\0".join(stamps))


def _stamps(paths: Iterator[str], *, stop: bool) -> Iterator[bytes]:
    """Yield a stamp for each file that is there, up to the first that is not if they `stop` there."""
    for path in paths:
        try:
            yield path.encode("utf-8", "surrogateescape") + stamp_of(os.lstat(path))
        except OSError:
            if stop:
                return


def _next_of(content: bytes) -> str | None:
    following = decoded_or(partial(mending, _HEAD), content, _NO_HEAD).continued_trajectory_ref
    return following if isinstance(following, str) and CONTINUATION.fullmatch(following) else None
