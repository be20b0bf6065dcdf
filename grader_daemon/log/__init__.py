"""Log set-up: sentences on a terminal, elsewhere one JSON object per line with the sentence in `message`.

Under systemd each line begins with ``<N>``, which journald takes as its priority (sd-daemon(3)), so that
``journalctl -p warning`` shows just the troubles. Session content is never logged; what was asked for is shown on a
terminal, to the person who sits there. A warning that repeats is
counted and told again after an hour; a log that cannot be written stops nothing.
"""

from __future__ import annotations

import logging
import os
import sys
import threading
from collections import OrderedDict
from collections.abc import Callable, MutableMapping
from contextlib import suppress
from datetime import tzinfo
from time import monotonic
from typing import Any, Literal, TextIO, cast

import msgspec
import structlog

from grader_daemon.domain.text import escaped
from grader_daemon.log.console import ConsoleLine
from grader_daemon.log.events import sentence
from grader_daemon.log.rotation import LOG_FILE, Rotated
from grader_daemon.system.open_files import is_journal

_LEVELS = {"debug": logging.DEBUG, "info": logging.INFO, "warning": logging.WARNING, "error": logging.ERROR}
_PRIORITIES = {"debug": 7, "info": 6, "notice": 5, "warning": 4, "error": 3, "critical": 2}
_REPEATABLE = frozenset({"warning", "error", "critical"})
_VARYING = frozenset({"attempts", "failures", "retry_at", "retry_seconds"})
"""Fields in which two lines on the same trouble may differ."""

_ENDS = {
    "intake.caught_up": "intake.behind",
    "intake.resumed": "intake.paused",
    "service.started": "store.replaced",
    "source.recovered": "source.failed",
    "watcher.restarted": "watcher.degraded",
}
"""Events that end a trouble, each with the one whose next occurrence is news again."""

_NOWHERE = logging.NullHandler()
_SILENT_SECONDS = 3600.0
_REMEMBERED = 1000
_encode = msgspec.json.Encoder(enc_hook=str).encode


def configure(
    *,
    level: str,
    log_format: Literal["auto", "console", "json"],
    zone: tzinfo | None = None,
    stream: TextIO | None = None,
) -> None:
    """Set up structlog for this process.

    Lines go to `stream` (default: standard error), times that people read are in `zone` (None: the machine's).
    """
    stream = stream if stream is not None else sys.stderr
    kept_in = os.environ.get(LOG_FILE) if stream is sys.stderr else None
    written = stream if kept_in is None else Rotated(stream, kept_in)
    console = log_format == "console" or (log_format == "auto" and stream.isatty())
    processors: list[structlog.typing.Processor] = [
        _add_level,
        Repeats(clock=monotonic),
        structlog.processors.TimeStamper(fmt=None if console else "iso", utc=True),
        structlog.processors.format_exc_info,
        ConsoleLine(stream, zone=zone) if console else _JsonLine(prefixed=is_journal(stream), zone=zone),
    ]
    structlog.configure(
        processors=processors,
        wrapper_class=structlog.make_filtering_bound_logger(_LEVELS[level]),
        logger_factory=structlog.WriteLoggerFactory(file=cast(TextIO, _Unfailing(written))),
        cache_logger_on_first_use=True,
    )


def logger() -> Any:
    """Return the log for what other programs call too: until `configure` is called, theirs, by the standard library."""
    if structlog.is_configured():
        return structlog.get_logger()
    theirs = logging.getLogger("grader_daemon")
    theirs.addHandler(_NOWHERE)
    words = structlog.processors.KeyValueRenderer(key_order=["event"])
    return structlog.wrap_logger(theirs, processors=[words], wrapper_class=structlog.stdlib.BoundLogger)


def _add_level(_: Any, method: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    """An event may ask for the level "notice", which journald knows and Python's logging does not."""
    event.setdefault("level", method)
    return event


class Repeats:
    """Passes a warning or error on once an hour; the next telling says in `repeated` how often it was held back."""

    def __init__(self, *, clock: Callable[[], float]) -> None:
        """`clock` gives seconds that never go back."""
        self._clock = clock
        # When each was told last and how often it came since; the threads that log share it.
        self._told: OrderedDict[tuple[str, str], tuple[float, int]] = OrderedDict()
        self._lock = threading.Lock()

    def __call__(self, _: Any, __: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
        """Pass the event on.

        Raises:
            structlog.DropEvent: it was told less than an hour ago.
        """
        name = event["event"]
        if name in _ENDS:
            self._forget(_ENDS[name])
        if event["level"] not in _REPEATABLE:
            return event
        key = name, repr(sorted((each, str(value)) for each, value in event.items() if each not in _VARYING))
        now = self._clock()
        with self._lock:
            told_at, held_back = self._told.get(key, (-_SILENT_SECONDS, 0))
            if now - told_at < _SILENT_SECONDS:
                self._told[key] = (told_at, held_back + 1)
                raise structlog.DropEvent
            self._told[key] = (now, 0)
            self._told.move_to_end(key)
            if len(self._told) > _REMEMBERED:
                self._told.popitem(last=False)
        if held_back:
            event["repeated"] = held_back
        return event

    def _forget(self, name: str) -> None:
        with self._lock:
            for key in [key for key in self._told if key[0] == name]:
                del self._told[key]


class _Unfailing:
    """A stream for the log: a full disk or a reader that left costs lines, not sessions.

    No IOBase: the end of the interpreter would flush it after all that it needs is gone.
    """

    def __init__(self, stream: TextIO | Rotated) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        with suppress(OSError, ValueError):
            self._stream.write(text)
        return len(text)

    def flush(self) -> None:
        with suppress(OSError, ValueError):
            self._stream.flush()


class _JsonLine:
    """Renders one event as a line of JSON, with the priority that journald reads."""

    def __init__(self, *, prefixed: bool, zone: tzinfo | None) -> None:
        self._prefixed = prefixed
        self._zone = zone

    def __call__(self, _: Any, __: str, event: MutableMapping[str, Any]) -> str:
        level = event["level"]
        event.pop("task", None)
        head = {name: event[name] for name in ("timestamp", "level", "event")}
        told = {**head, **event, "message": sentence(event, self._zone)}
        line = _encode({name: _encodable(value) for name, value in told.items()}).decode()
        line = line if line.isascii() else escaped(line)
        return f"<{_PRIORITIES.get(level, 6)}>{line}" if self._prefixed else line


def _encodable(value: Any) -> Any:
    """Return a file name that is not UTF-8 as text that is."""
    if isinstance(value, str) and not value.isascii():
        return value.encode("utf-8", "backslashreplace").decode()
    return value
