"""Log set-up: readable on a terminal, one JSON object a line elsewhere.

Under systemd each line begins with ``<N>``, which journald takes as its priority (sd-daemon(3)), so that
``journalctl -p warning`` shows just the troubles. Session content is never logged.
"""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import MutableMapping
from typing import Any, Literal, TextIO

import msgspec
import structlog

_LEVELS = {"debug": logging.DEBUG, "info": logging.INFO, "warning": logging.WARNING, "error": logging.ERROR}
_PRIORITIES = {"debug": 7, "info": 6, "notice": 5, "warning": 4, "error": 3, "critical": 2}
_encode = msgspec.json.Encoder(enc_hook=str).encode


def configure(*, level: str, log_format: Literal["auto", "console", "json"], stream: TextIO | None = None) -> None:
    """Set up structlog for this process; lines go to `stream` (default: standard error)."""
    stream = stream if stream is not None else sys.stderr
    console = log_format == "console" or (log_format == "auto" and stream.isatty())
    processors: list[structlog.typing.Processor] = [
        _add_level,
        structlog.processors.TimeStamper(fmt="iso", utc=not console),
    ]
    if console:
        colors = stream.isatty() and "NO_COLOR" not in os.environ
        processors += [_printable, structlog.dev.ConsoleRenderer(colors=colors)]
    else:
        processors += [structlog.processors.format_exc_info, _JsonLine(prefixed=_under_systemd())]
    structlog.configure(
        processors=processors,
        wrapper_class=structlog.make_filtering_bound_logger(_LEVELS[level]),
        logger_factory=structlog.WriteLoggerFactory(file=stream),
        cache_logger_on_first_use=True,
    )


def _add_level(_: Any, method: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    """An event may ask for the level "notice", which journald knows and Python's logging does not."""
    event.setdefault("level", method)
    return event


def _printable(_: Any, __: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    """File names may hold anything; a terminal must not see it raw."""
    for key, value in event.items():
        if isinstance(value, str) and not value.isprintable() and key != "exception":
            event[key] = value.encode("unicode_escape", "backslashreplace").decode("ascii")
    return event


class _JsonLine:
    """Renders one event as a line of JSON, with the priority that journald reads."""

    def __init__(self, *, prefixed: bool) -> None:
        self._prefixed = prefixed

    def __call__(self, _: Any, __: str, event: MutableMapping[str, Any]) -> str:
        level = event["level"]
        head = {"timestamp": event.pop("timestamp"), "level": level, "event": event.pop("event")}
        line = _encode({name: _encodable(value) for name, value in {**head, **event}.items()}).decode()
        return f"<{_PRIORITIES.get(level, 6)}>{line}" if self._prefixed else line


def _encodable(value: Any) -> Any:
    """Give a file name that is not UTF-8 as text that is."""
    if isinstance(value, str) and not value.isascii():
        return value.encode("utf-8", "backslashreplace").decode()
    return value


def _under_systemd() -> bool:
    return "JOURNAL_STREAM" in os.environ or "INVOCATION_ID" in os.environ
