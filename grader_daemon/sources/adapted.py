"""A source that an adapter gives: what it answers is checked, and what it fails on is its own.

Whatever the adapter raises or returns, the other sources go on: it has no session there, and one line says why. Its
version is part of stamps and digests, so another version reads all of its sessions anew.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Any, Final, TypeVar

import msgspec
import xxhash

from grader_daemon.adapters import NOT_PROVIDED, Adapter, installed, missing
from grader_daemon.domain.limits import Limits
from grader_daemon.domain.session import Session, Skipped
from grader_daemon.domain.text import clean
from grader_daemon.domain.unit import Found, Unit
from grader_daemon.errors import ParseError, ReadError
from grader_daemon.sources.decoding import check_messages
from grader_daemon.sources.discovery import OnBug, Walk
from grader_daemon.sources.protocol import OnSourceBug, Read, Source, UnknownKinds, Watch, as_shown
from grader_daemon.sources.session_files import SessionFiles

API_VERSION: Final = 1
"""The version of what adapters are promised; it counts up when an adapter would have to be changed."""

_LONGEST_FAULT = 300
_LONGEST_PACKAGE = 100
_SALT_BYTES = 4
_METHODS = ("claims", "recognizes", "touched", "walk", "look", "size_of", "read")
_ENCODE = msgspec.json.Encoder().encode
_DECODE = msgspec.json.Decoder(Session).decode

_ANYTHING: Final = (Exception, SystemExit)
"""Raised by code that is not ours."""

T = TypeVar("T")


class AdapterError(Exception):
    """An adapter raised what no source may, or returned nonsense; the text is one line with its package."""


class NonsenseError(Exception):
    """An adapter returned something else than it should."""


class Adapted:
    """The source of an adapter; see `Source`."""

    def __init__(self, adapter: Adapter, folders: Sequence[str], *, limits: Limits) -> None:
        """Load the adapter. Where that fails all else fails likewise, and `fault` says why.

        Args:
            adapter: what is loaded.
            folders: where sessions lie; none for those that it names by itself.
            limits: what a session may hold.
        """
        self.name = adapter.name
        self.title = adapter.name
        self.package = clean(adapter.package[:_LONGEST_PACKAGE])
        self._roots = tuple(folders)
        self.unknown: frozenset[str] = frozenset()
        self.fault: str | None = None
        """Its first failure."""
        self._adapter = adapter
        self._given = tuple(folders)
        self._limits = limits
        self._on_bug: OnSourceBug | None = None
        self._salt = xxhash.xxh32_digest(adapter.package.encode())
        self._source: Source | None = None
        try:
            self._source = self._made()
        except _ANYTHING as error:
            self._note(self._fault_of("cannot be loaded", error) if adapter.entries else AdapterError(NOT_PROVIDED))

    def __reduce__(self) -> tuple[object, ...]:
        """Another process loads it anew: whether the adapter can be pickled is not asked."""
        return _again, (self.name, self._given, self._limits)

    def guard(self, on_bug: OnSourceBug) -> None:
        """Report failures from now on, in place of keeping the first alone."""
        self._on_bug = on_bug

    @property
    def is_of_files(self) -> bool:
        """True if each of its sessions lies in one file."""
        return isinstance(self._source, SessionFiles)

    @property
    def roots(self) -> Sequence[str]:
        """See `Source.roots`; where it cannot be loaded, that is told as often as somebody asks where to look."""
        if self._source is None and self._on_bug is not None:
            self._on_bug(self.name, AdapterError(self.fault))
        return self._roots

    @property
    def watches(self) -> Sequence[Watch]:
        return self._ask("watches", lambda source: [_of(Watch, each) for each in source.watches], otherwise=[])

    def claims(self, path: str) -> bool:
        return self._ask("claims", lambda source: _of(bool, source.claims(path)), otherwise=False)

    def recognizes(self, path: str, beginning: bytes) -> bool:
        return self._ask("recognizes", lambda source: _of(bool, source.recognizes(path, beginning)), otherwise=False)

    def touched(self, path: str) -> Sequence[Unit]:
        return self._ask("touched", lambda source: [self._own(each) for each in source.touched(path)], otherwise=())

    def size_of(self, unit: Unit) -> int:
        return max(0, self._ask("size_of", lambda source: _of(int, source.size_of(unit)), otherwise=0))

    def walk(self, root: str) -> Walk:
        """See `Source.walk`; what fails is passed over."""
        return self.walk_telling(root, self._note)

    def walk_telling(self, root: str, tell: OnBug) -> Walk:
        """Return a walk that passes over what the adapter fails on, and tells it."""

        def tell_fault(error: Exception) -> None:
            tell(self._fault_of("walk", error))

        nothing = Walk(root, claims=lambda _: False, units_of=lambda _, __: (), enters=lambda _: False)
        try:  # its walk is taken apart, and walked by ours
            walk = nothing.joined([_of(Walk, self._loaded().walk(root))])
        except _ANYTHING as error:
            tell(self._fault_of("walk", error))
            walk = nothing
        return walk.each_found(self._salted).guarded(tell_fault)

    def look(self, unit: Unit) -> Found:
        return self._try("look", lambda source: self._looked(source.look(unit), unit))

    def read(self, found: Found, *, unless: str | None = None) -> Read:
        """See `Source.read`; the session is built anew from what it says, so that each value is of its type."""
        salt = self._salt.hex()
        bare = Found(found.unit, found.stamp[:-_SALT_BYTES], found.written_ns)
        known = unless.removesuffix(salt) if unless is not None and unless.endswith(salt) else None
        return self._try("read", lambda source: self._checked(source.read(bare, unless=known), found.unit, known))

    def _made(self) -> Source:
        made = self._adapter.load()
        version = getattr(made, "api_version", None)
        if version != API_VERSION:
            raise NonsenseError(f"its api_version is {version!r}; this grader-daemon supports {API_VERSION}")
        self._roots = self._given or tuple(_whole_path(_of(str, each)) for each in made.default_roots())
        source: Any = made(self._roots, limits=self._limits)
        if source.name != self.name:
            raise NonsenseError(f"it calls itself {source.name!r}, and its entry point {self.name!r}")
        lacking = [name for name in _METHODS if not callable(getattr(source, name, None))]
        if lacking:
            raise NonsenseError(f"it has no {', '.join(lacking)}")
        self.unknown = frozenset(_of(str, each) for each in source.unknown)
        self.title = clean(_of(str, source.title))
        known: Source = source
        return known

    def _loaded(self) -> Source:
        if self._source is None:
            raise AdapterError(self.fault)
        return self._source

    def _ask(self, what: str, ask: Callable[[Source], T], *, otherwise: T) -> T:
        """Return what the adapter answers; `otherwise` where it fails on that."""
        try:
            return ask(self._loaded())
        except _ANYTHING as error:
            self._note(self._fault_of(what, error))
            return otherwise

    def _try(self, what: str, ask: Callable[[Source], T]) -> T:
        """Return what the adapter answers.

        Raises:
            ReadError, ParseError: it says so, or fails on it.
        """
        try:
            return ask(self._loaded())
        except (ReadError, ParseError):
            raise
        except _ANYTHING as error:
            fault = self._fault_of(what, error)
        self.fault = self.fault or str(fault)  # and no more is done: who asked tells it, of the one session
        raise ReadError(str(fault))

    def _note(self, fault: Exception) -> None:
        self.fault = self.fault or str(fault)
        if self._on_bug is not None:
            self._on_bug(self.name, fault)

    def _fault_of(self, what: str, error: BaseException) -> AdapterError:
        """Return one line on a failure, if it is none yet: which package, at what, why, and where in its code."""
        if isinstance(error, AdapterError):
            return error
        said = f"{error}" if isinstance(error, NonsenseError) else f"{type(error).__name__}: {error}"
        fault = clean(" ".join(f"{self.package}: {what}: {said}".split())[:_LONGEST_FAULT])
        return AdapterError(f"{fault}{_place_of(error)}")

    def _own(self, unit: object) -> Unit:
        known = _of(Unit, unit)
        if known.source != self.name or not os.path.isabs(_of(str, known.locator)):
            raise NonsenseError(f"a unit is of source {known.source!r} at {known.locator!r}")
        return known

    def _salted(self, found: object) -> Found:
        known = _of(Found, found)
        return Found(self._own(known.unit), _of(bytes, known.stamp) + self._salt, _of(int, known.written_ns))

    def _looked(self, found: object, unit: Unit) -> Found:
        salted = self._salted(found)
        if salted.unit != unit:
            raise NonsenseError("it returned another unit")
        return salted

    def _checked(self, read: object, unit: Unit, unless: str | None) -> Read:
        known = _of(Read, read)
        digest = None if known.digest is None else f"{_of(str, known.digest)}{self._salt.hex()}"
        inside = tuple(self._own(each) for each in known.inside)
        unknown = None if known.unknown is None else _of(UnknownKinds, known.unknown)
        session = known.session
        if session is None:
            if unless is None or known.digest != unless:
                raise NonsenseError("it returned no session for new content")
        elif not isinstance(session, Skipped):
            built = msgspec.structs.replace(anew(_of(Session, session), unit, self._limits), adapter=self.package)
            session = as_shown(built)
            if digest is None:
                raise NonsenseError("a session has no digest")
        return Read(digest, session, inside, unknown)


def anew(session: Session, unit: Unit, limits: Limits) -> Session:
    """Return a session that was read from a unit, built anew: each value is what its field says.

    Raises:
        NonsenseError: one is not, or it is of another unit.
        ParseError: it has too many messages.
    """
    try:
        built = _DECODE(_ENCODE(session))
    except (msgspec.MsgspecError, TypeError, ValueError, OverflowError, RecursionError) as error:
        raise NonsenseError(f"an invalid session: {error}") from error
    if built.unit != unit:
        raise NonsenseError(f"a session of {built.unit.source!r}, {built.unit}, instead of the requested one")
    wrong = next((why for is_wrong, why in _RULES if is_wrong(built)), None)
    if wrong is not None:
        raise NonsenseError(wrong)
    check_messages(built, limits)
    return built


_RULES: Final[Sequence[tuple[Callable[[Session], bool], str]]] = (
    (lambda session: not session.session_id, "a session without an id"),
    (
        lambda session: len(session.message_times) not in (0, len(session.messages)),
        "message_times of another length than messages",
    ),
    (
        lambda session: any(not 0 <= index < len(session.messages) for index in session.reported),
        "reported names a message that is not there",
    ),
    (
        lambda session: any(
            moment is not None and moment.tzinfo is None
            for moment in (session.started_at, session.updated_at, *session.message_times)
        ),
        "a time without a zone",
    ),
)
"""What a session may not be, beyond the types of its fields."""


def _again(name: str, folders: Sequence[str], limits: Limits) -> Adapted:
    return Adapted(installed().get(name) or missing(name), folders, limits=limits)


def _of(kind: type[T], value: object) -> T:
    """Return a value of this type.

    Raises:
        NonsenseError: it is of another.
    """
    if isinstance(value, kind):
        return value
    raise NonsenseError(f"{kind.__name__} is expected, not {type(value).__name__}")


def _whole_path(path: str) -> str:
    return os.path.abspath(os.path.expanduser(path))


def _place_of(error: BaseException) -> str:
    """Return where in the adapter's code an error was raised; "" where that is not its code."""
    trace, place = error.__traceback__, ""
    while trace is not None:
        file = trace.tb_frame.f_code.co_filename
        if not file.startswith((os.path.dirname(os.path.dirname(__file__)), "<")):
            place = f" ({os.path.basename(file)}:{trace.tb_lineno})"
        trace = trace.tb_next
    return place
