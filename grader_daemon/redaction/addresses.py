"""E-mail addresses, for those who ask for them to be redacted."""

from __future__ import annotations

import re

from grader_daemon.redaction.finders import Finder
from grader_daemon.redaction.spans import Span

_LONGEST_NAME = 64
_NAME = re.compile(r"[\w.%+'-]{1,64}\Z")
_HOST = re.compile(r"@(?:[\w-]{1,63}\.){1,8}[\w-]{2,63}")


class _AddressFinder:
    """Looks to both sides of an "@"."""

    sign = b"@"

    def look(self, text: str, position: int) -> Span | None:
        """See `Finder.look`."""
        host = _HOST.match(text, position)
        name = host and _NAME.search(text, max(0, position - _LONGEST_NAME), position)
        return (name.start(), host.end()) if host and name else None


ADDRESSES: tuple[Finder, ...] = (_AddressFinder(),)
