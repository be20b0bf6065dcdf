"""Passwords behind the short options of programs that take them there."""

from __future__ import annotations

import re
from typing import NamedTuple

from grader_daemon.analysis.redaction.redactor import Finder, Span

_REACH = 200
_QUOTE = r"\\{0,3}[\"']"
_VALUE = rf"(?:{_QUOTE}([^\"'\\\n]{{3,}}+)|((?![-$])[^\s\"'\\|;&<>]{{3,}}+))"
_USER = rf"(?:{_QUOTE})?[^\s:%,\"'\\]{{1,64}}[:%,]((?!\d+\b|\$)[^\s\"'\\]{{3,}}+)"


class _Taker(NamedTuple):
    """An option with what follows it, and the programs behind whose names, on the same line, that is a secret."""

    option: re.Pattern[str]
    programs: re.Pattern[str]


def _taker(option: str, value: str, programs: str) -> _Taker:
    return _Taker(re.compile(rf"\s(?:{option})[ =]?{value}"), re.compile(rf"\b(?:{programs})\b[^\n|;&]*\Z"))


class _ShortOptions:
    """Looks at what stands before an option only if it is one that somebody takes a secret with."""

    sign = b" -"
    _takers = (
        _taker(
            "-[pP]",
            _VALUE,
            r"sshpass|mysql\w*|mariadb\w*|mongo\w*|(?:docker|podman|az|helm registry) login|7z[ar]?|unzip|zip|sqlcmd"
            r"|mosquitto_\w+|ftp",
        ),
        _taker("-u|-U|--user|--proxy-user", _USER, r"curl|wget|lftp|smbclient|ab|siege|rpcclient|https?"),
        _taker("-a", _VALUE, r"redis-cli|https?"),
        _taker("-w", _VALUE, r"ldap\w+"),
        _taker("-k", _VALUE, r"openssl"),
        _taker("-b[cmB]{0,2}", r"\s\S{1,80}+\s\S{1,64}+\s{0,3}\s([^\s\"'\\]{3,}+)", r"htpasswd"),
    )
    _to_sudo = re.compile(
        r"\b(?:echo|printf)\s(?:-n\s)?\\?[\"']?([^\s\"'\\|$]{3,64})(?:\\{1,2}n)?\\?[\"']?\s?\|\s?sudo\Z"
    )

    def look(self, text: str, position: int) -> Span | None:
        """See `Finder.look`."""
        for option, programs in self._takers:
            found = option.match(text, position)
            if found and programs.search(text, max(0, position - _REACH), position):
                return found.span(found.lastindex or 0)
        if text.startswith(" -S", position):
            piped = self._to_sudo.search(text, max(0, position - _REACH), position)
            return piped.span(1) if piped else None
        return None


OPTIONS: tuple[Finder, ...] = (_ShortOptions(),)
