"""The protocol of a source: where its sessions lie, which changes touch them, how one is read.

A new agent is a file or a room beside `hermes` with a `Source` in it, and a line in `bootstrap.SOURCES`.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property, partial
from itertools import islice
from typing import NamedTuple, Protocol, TypeVar, runtime_checkable

import msgspec

from grader_daemon.domain.session import Session, Skipped
from grader_daemon.domain.unit import Found, Unit
from grader_daemon.errors import ReadError, VanishedFileError
from grader_daemon.sources.discovery import OnBug, Walk
from grader_daemon.sources.file_reading import read_beginning

_BEGINNING = 4_096
_MOST_LOOKED_INTO = 1_000

T = TypeVar("T")
OnSourceBug = Callable[[str, Exception], None]
"""Callback with the name of a source, and what it failed on by a bug of ours; called from any thread."""


class UnknownKinds(msgspec.Struct, frozen=True, gc=False):
    """Kinds of lines or records that a source skipped because they are unknown; agents add some with every version.

    Attributes:
        version: version of the agent that wrote the file last, if recorded.
        kinds: their names, each once.
        broken: number of lines that are not JSON, 0 or more.
    """

    version: str | None
    kinds: tuple[str, ...]
    broken: int = 0


class Read(msgspec.Struct, frozen=True, gc=False):
    """Result of reading a unit. Equal content has an equal digest.

    Attributes:
        digest: digest of all content behind the session; None if the file's name alone showed that it holds none.
        session: the session; None if the digest is the one that the caller already knows.
        inside: other units in the same file, found only by reading it; they are read next.
        unknown: what was skipped; None if nothing was.
    """

    digest: str | None
    session: Session | Skipped | None
    inside: tuple[Unit, ...] = ()
    unknown: UnknownKinds | None = None


class Watch(NamedTuple):
    """A folder to watch for a source.

    Attributes:
        recursive: whether to watch all folders below it, too.
        writes: whether to report every write, because its sessions are in files that stay open; if not, only closed
            files.
    """

    folder: str
    recursive: bool = True
    writes: bool = False


class Source(Protocol):
    """A source: where the sessions of one agent are, and how to read them. It can be pickled for other processes."""

    name: str
    """Name in its units and in settings, and of the format of its sessions: claude-code."""

    title: str
    """Name of the agent for people: Claude Code."""

    @property
    def roots(self) -> Sequence[str]:
        """The folders that are searched for it; other files belong to it only if a person names them."""

    @property
    def watches(self) -> Sequence[Watch]:
        """The folders to watch; each is one of `roots`, or below one."""

    @property
    def unknown(self) -> frozenset[str]:
        """Fields of `Session` and `Message` that its sessions never record."""

    def claims(self, path: str) -> bool:
        """Return whether the file `path` may belong to one of its units. Called for each event, in any thread."""

    def recognizes(self, path: str, beginning: bytes) -> bool:
        """Return whether a file that a person names is its own, by its name or the first 4 KB of its content."""

    def touched(self, path: str) -> Sequence[Unit]:
        """Return the units that a change of the claimed file `path` concerns, whether or not the file still exists.

        It may look into the file, and then returns only units that changed since it last did. Must not raise: the next
        walk finds what it cannot tell.
        """

    def walk(self, root: str) -> Walk:
        """Return a walk that yields all units below `root`, as found on disk."""

    def look(self, unit: Unit) -> Found:
        """Look at a unit without reading it.

        Raises:
            VanishedFileError: it is gone.
            ReadError: it cannot be looked at.
        """

    def size_of(self, unit: Unit) -> int:
        """Return roughly how many bytes are read for a unit; 0 if unknown."""

    def read(self, found: Found, *, unless: str | None = None) -> Read:
        """Read a unit as it was found; content with the digest `unless` is not decoded.

        Raises:
            VanishedFileError: it is gone.
            ChangingFileError: it is not as it was found any more, or was written to meanwhile.
            ReadError: it cannot be read.
            UnfinishedFileError: it may be in the middle of being written.
            ParseError: it is no session and will not become one by reading it again.
        """


@runtime_checkable
class Guarding(Protocol):
    """A source that is guarded by itself: whatever it fails on, it answers, and tells that; `fault` is the first.

    An adapter is one; `package` is the installed package that gives it, with its version.
    """

    name: str
    package: str
    fault: str | None

    def guard(self, on_bug: OnSourceBug) -> None:
        """Report failures from now on."""

    def walk_telling(self, root: str, tell: OnBug) -> Walk:
        """Return a walk that passes over what fails, and tells it."""


class Sources:
    """The sources that are set up. A path belongs to the first that claims it, and has it below one of its roots.

    What one fails on by a bug of ours is raised, or after `guard` told: then nothing is known of that, and the others
    go on.
    """

    def __init__(self, sources: Sequence[Source], *, others: Sequence[Callable[[], Source]] = ()) -> None:
        """Set up.

        Args:
            sources: what is watched and walked; at least one. A file that a person names and that none of all
                recognizes is read by the first.
            others: makers of sources that only read what a person names, and what was graded before. Most programs
                never ask for one, and all of them together are a twentieth of a daemon's memory.
        """
        self._sources = tuple(sources)
        self._others = tuple(others)
        self._on_bug: OnSourceBug | None = None
        self._heads: dict[str, tuple[str, ...]] = {}
        self._watched: dict[str, Sequence[Watch]] = {}
        """Watches by the name of a source, as of when it could last be asked; only one thread asks."""

    def __reduce__(self) -> tuple[object, ...]:
        """It goes to another process without the guard."""
        return partial(Sources, self._sources, others=self._others), ()

    @cached_property
    def _all(self) -> tuple[Source, ...]:
        return (*self._sources, *(make() for make in self._others))

    def guard(self, on_bug: OnSourceBug) -> None:
        """Report failures of a source by a bug of ours from now on, in place of raising; but for `read` and `of`."""
        self._on_bug = on_bug
        for source in self._sources:
            if isinstance(source, Guarding):
                source.guard(on_bug)

    def __iter__(self) -> Iterator[Source]:
        """Yield the sources that are watched and walked."""
        return iter(self._sources)

    def of(self, unit: Unit) -> Source:
        """Return the source of a unit.

        Raises:
            VanishedFileError: it is not set up (any more), so nothing is known to lie there.
        """
        source = self.called(unit.source)
        if source is None:
            raise VanishedFileError(f"there is no source {unit.source}")
        return source

    def claims(self, path: str) -> bool:
        """Return whether a change of the file `path` may be one of a unit."""
        return self._claiming(path) is not None

    def touched(self, path: str) -> Sequence[Unit]:
        """Return the units that a change of the file `path` touches."""
        source = self._claiming(path)
        return () if source is None else self._ask(source, lambda: source.touched(path), otherwise=())

    def named(self, path: str) -> Sequence[Unit]:
        """Return the units of a file that a person names: whatever its name is, somebody says that it is a session."""
        source = self._claiming(path) or self._recognizing(path, self._all)
        found = source.walk(os.path.dirname(path)).of_file(path)
        return [each.unit for each in found] or source.touched(path)

    def called(self, name: str) -> Source | None:
        """Return the source of a name, whether it is watched or not."""
        for source in self._sources:
            if source.name == name:
                return source
        return next((source for source in self._all if source.name == name), None)

    def is_strange(self, path: str) -> bool:
        """Return whether a file of several JSON objects, one a line, is of no agent that is known."""
        beginning = b"" if self.claims(path) else read_beginning(path, _BEGINNING)
        first, _, rest = beginning.partition(b"\n")
        is_lines = first.startswith(b"{") and first.rstrip().endswith(b"}") and rest.lstrip().startswith(b"{")
        return is_lines and not any(source.recognizes(path, beginning) for source in self._all)

    def strange_below(self, folder: str) -> str | None:
        """Return a file below a folder that is of no agent that is known; None where the first thousand are no such."""
        lines = (
            os.path.join(where, name)
            for where, folders, names in os.walk(folder)
            for name in _in_order(folders, names)
            if name.endswith(".jsonl")
        )
        return next(filter(self.is_strange, islice(lines, _MOST_LOOKED_INTO)), None)

    @property
    def faults(self) -> dict[str, str]:
        """The first failure of each source that guards itself, by its name."""
        guarding = (source for source in self._sources if isinstance(source, Guarding))
        return {source.name: source.fault for source in guarding if source.fault is not None}

    @property
    def titles(self) -> str:
        """The agents that are known, as people call them, in a list."""
        return ", ".join(source.title for source in self._all)

    def roots(self, name: str | None = None) -> list[str]:
        """Return the folders that are watched and walked, each once; or those of the source of that name alone."""
        return list(dict.fromkeys(root for source in self._chosen(name) for root in self._roots_of(source)))

    def walks(self, name: str | None = None) -> Iterator[Walk]:
        """Return a walk below each root; or those of the source of that name alone, which need not be watched."""
        walks: dict[str, list[Walk]] = {}
        failed: dict[str, set[str]] = {}
        for source in self._chosen(name):
            for root in self._roots_of(source):
                walk = self._walk(source, root, failed.setdefault(root, set()))
                walks.setdefault(root, []).append(
                    walk if source is self._sources[0] else walk.but(partial(self._is_taken, source))
                )
        for root, (first, *others) in walks.items():
            joined = first.joined(others)
            joined.failed = failed[root]
            yield joined

    def walk_below(self, root: str) -> Walk:
        """Return a walk below one folder that a person names, for sources too that are not watched."""
        first, *others = (source.walk(root).but(partial(self._is_anothers, source)) for source in self._all)
        return first.joined(others)

    def _chosen(self, name: str | None) -> Sequence[Source]:
        return self._sources if name is None else [source for source in self._all if source.name == name]

    def _walk(self, source: Source, root: str, failed: set[str]) -> Walk:
        """Return the walk of one source; where it is guarded and fails, its name is added to `failed`."""
        on_bug = self._on_bug
        if on_bug is None:
            return source.walk(root)

        def note(error: Exception) -> None:
            failed.add(source.name)
            on_bug(source.name, error)

        try:
            return source.walk_telling(root, note) if isinstance(source, Guarding) else source.walk(root).guarded(note)
        except Exception as error:  # noqa: BLE001  whatever it was, the other sources are walked
            note(error)
            return Walk(root, claims=lambda _: False, units_of=lambda _, __: (), enters=lambda _: False)

    def _is_taken(self, source: Source, path: str) -> bool:
        """Return whether a file belongs to another source, which is asked before."""
        return self._claiming(path) not in (source, None)

    def _is_anothers(self, source: Source, path: str) -> bool:
        """Return whether a file whose name several sources claim is, by its content, of another one."""
        claiming = [each for each in self._all if self._does_claim(each, path)]
        return len(claiming) > 1 and self._recognizing(path, claiming) is not source

    def watches(self) -> list[Watch]:
        """Return what is to be watched, each folder once."""
        merged: dict[str, Watch] = {}
        for source in self._sources:
            before = self._watched.get(source.name, ())
            self._watched[source.name] = self._ask(source, partial(getattr, source, "watches"), otherwise=before)
        for watch in (watch for watches in self._watched.values() for watch in watches):
            known = merged.get(watch.folder, watch)
            merged[watch.folder] = Watch(
                watch.folder, recursive=known.recursive or watch.recursive, writes=known.writes or watch.writes
            )
        return list(merged.values())

    def look(self, unit: Unit) -> Found:
        """Look at a unit; see `Source.look`."""
        source = self.of(unit)
        try:
            return source.look(unit)
        except ReadError:
            raise
        except Exception as error:
            self._tell(source, error)
            raise ReadError(f"internal error: {type(error).__name__}: {error}") from error

    def size_of(self, unit: Unit) -> int:
        """Return about how many bytes are read for a unit; 0 where nothing can be told of it."""
        try:
            source = self.of(unit)
            return self._ask(source, lambda: source.size_of(unit), otherwise=0)
        except ReadError:
            return 0  # whoever reads it says what is wrong

    def read(self, unit: Unit) -> Read:
        """Look at a unit and read it; see `Source.read`."""
        source = self.of(unit)
        return source.read(source.look(unit))

    def _claiming(self, path: str) -> Source | None:
        for source in self._sources:
            if path.startswith(self._heads_of(source)) and self._does_claim(source, path):
                return source
        return None

    def _does_claim(self, source: Source, path: str) -> bool:
        return self._ask(source, lambda: source.claims(path), otherwise=False)

    def _heads_of(self, source: Source) -> tuple[str, ...]:
        """Return what the paths below its roots begin with; asked until it could be told."""
        heads = self._heads.get(source.name)
        if heads is None:
            heads = tuple(os.path.join(root, "") for root in self._roots_of(source))
            if heads:
                self._heads[source.name] = heads
        return heads

    def _roots_of(self, source: Source) -> Sequence[str]:
        return self._ask(source, lambda: source.roots, otherwise=())

    def _ask(self, source: Source, ask: Callable[[], T], *, otherwise: T) -> T:
        """Return what a source answers, or `otherwise` where it fails on that and is guarded."""
        try:
            return ask()
        except Exception as error:  # noqa: BLE001  told or raised
            self._tell(source, error)
            return otherwise

    def _tell(self, source: Source, error: Exception) -> None:
        if self._on_bug is None:
            raise error
        self._on_bug(source.name, error)

    def _recognizing(self, path: str, among: Sequence[Source]) -> Source:
        beginning = read_beginning(path, _BEGINNING)
        return next((source for source in among if source.recognizes(path, beginning)), among[0])


def as_shown(session: Session | Skipped) -> Session | Skipped:
    """Return a decoded session under the id that can be stored and shown; from here on it is known by no other."""
    from grader_daemon.redaction import public_id  # who only looks need not wait for it

    shown = session.session_id and public_id(session.session_id)
    return session if shown == session.session_id else msgspec.structs.replace(session, session_id=shown)


def _in_order(folders: list[str], names: list[str]) -> list[str]:
    """Return the names of files in order, and have the folders beside them entered in order."""
    folders.sort()
    return sorted(names)
