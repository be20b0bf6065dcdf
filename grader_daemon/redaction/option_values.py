"""Passwords that programs take: behind a short option, at a place of their own, through a pipe."""

from __future__ import annotations

import re
from typing import NamedTuple

from grader_daemon.domain.late_pattern import late_pattern
from grader_daemon.redaction.finders import Before, Finder, Form, Span
from grader_daemon.redaction.values import ODD

_REACH = 200
_QUOTE = r"\\{0,7}[\"']"
_VALUE = rf"(?:{_QUOTE}((?!\$)[^\"'\\\n]{{3,}}+)|((?![-$])[^\s\"'\\|;&<>]{{3,}}+))"
_USER = rf"(?:{_QUOTE})?[^\s:%,\"'\\]{{1,64}}[:%,]((?!\d+\b|\$)[^\s\"'\\]{{3,}}+)"
_WORD = r"(?:\s\S{1,80}+)"


# -- behind options ----------------------------------------------------------------------------------------------------


class _Taker(NamedTuple):
    """An option, alone and with what follows it, and the programs behind whose names on its line that is a secret."""

    name: str
    option: re.Pattern[str]
    programs: re.Pattern[str]


def _taker(option: str, value: str, programs: str) -> _Taker:
    behind = late_pattern(rf"\s?(?:{option})[ =]?{value}")
    return _Taker(option, behind, late_pattern(rf"\b(?:{programs})\b[^\n|;&]*\Z"))


class _Options(NamedTuple):
    """Looks at what stands before an option only if it is one that somebody takes a secret with."""

    sign: bytes
    takers: tuple[_Taker, ...]
    any_option: re.Pattern[str]
    """The options of all takers: nearly every dash is none of them."""

    def look(self, text: str, position: int) -> Span | None:
        """See `Finder.look`."""
        for _, option, programs in self.takers if self.any_option.match(text, position) else ():
            found = option.match(text, position)
            if found and programs.search(text, max(0, position - _REACH), position):
                return found.span(found.lastindex or 0)
        return None


def _options(sign: bytes, *takers: _Taker) -> _Options:
    return _Options(sign, takers, late_pattern(rf"\s?(?:{'|'.join(taker.name for taker in takers)})"))


_READERS = (
    r"sudo\s[^|\n]{0,60}?-S|chpasswd|passwd|kinit|cryptsetup|smbpasswd|pdbedit|ssh-add|gpg|bw unlock"
    r"|vault login|gh secret set|base64\s(?:-d|-D|--decode)"
    r"|(?:docker|podman|helm registry|gh auth|az|argocd|oc|npm|heroku)"
    r"[^|\n]{0,60}?(?:log-?in|--with-token)"
)
"""Programs that read a password where others read a file."""

_SHORT = _options(
    b" -",
    _taker(
        "-[pP]",
        _VALUE,
        r"sshpass|mysql\w*|mariadb\w*|mongo\w*|(?:docker|podman|az|helm registry) login|7z[ar]?|unzip|zip|sqlcmd"
        r"|bcp|mosquitto_\w+|ftp|ipmitool|evil-winrm|twine|usermod|useradd|rdesktop|crackmapexec|netexec|nxc|smbmap"
        r"|ssh-keygen|winexe|psexec",
    ),
    _taker("-u|-U|--user|--proxy-user", _USER, r"curl|wget|lftp|smbclient|ab|siege|rpcclient|https?|winexe|snmp\w+"),
    _taker("-b|--cookie", rf"(?=(?:{_QUOTE})?[\w.$-]{{1,64}}=){_VALUE}", r"curl"),
    _taker("-b|--body", _VALUE, r"gh secret set"),
    _taker("-a", _VALUE, r"redis-cli|https?"),
    _taker("-w", _VALUE, r"ldap\w+"),
    _taker("-k", _VALUE, r"openssl"),
    _taker("-N", _VALUE, r"ssh-keygen"),
    _taker("-[AX]", _VALUE, r"snmp\w+"),
    _taker("-t", _VALUE, r"doctl auth init"),
    _taker("-n[a-zA-Z]{0,2}b|-b[a-zA-Z]{0,2}n", r"\s\S{1,64}\s{1,3}([^\s\"'\\]{3,}+)", r"htpasswd"),
    _taker(
        "-b[cmB]{0,2}", r"(?:\s-[a-zA-Z]{1,3}){0,3}\s[^\s-]\S{0,80}\s{1,3}\S{1,64}\s{1,3}([^\s\"'\\]{3,}+)", r"htpasswd"
    ),
)
_OF_WINDOWS = Form(b"freerdp", late_pattern(rf"freerdp\s[^\n|;&]{{0,200}}?\s/p:{_VALUE}"))
_HERE_STRING = _options(b"<<<", _taker("<<<", rf"(?:{_QUOTE})?(?:[\w.-]{{1,32}}:)?{_VALUE}", _READERS))

# -- through a pipe ----------------------------------------------------------------------------------------------------

_PIPE = Before(
    b"|",
    late_pattern(rf"\|\s{{0,4}}(?:sudo\s(?:-[a-z]+\s)*)?(?:{_READERS})\b"),
    late_pattern(
        rf"\b(?:echo|printf)\s(?:-\w{{1,3}}\s)?(?:{_QUOTE}%s(?:\n)?{_QUOTE}\s)?(?:{_QUOTE})?(?:[\w.-]{{1,32}}:)?"
        r"((?!\$)[^\s\"'\\|]{3,64}(?:\n[^\s\"'\\|]{3,64})?)\s{0,2}(?:\\{0,7}[\"'])?\s{0,3}\Z"
    ),
)
_DECODED = r"\|\s{0,3}base64\s-(?:[dD]|-decode)\b"
_ENCODED = Before(
    b"|",
    late_pattern(_DECODED),
    late_pattern(rf"\b(?:echo|printf)\s(?:-\w{{1,3}}\s)?(?:{_QUOTE})?([\w+/=]{{8,}}+)(?:{_QUOTE})?\s{{0,3}}\Z"),
    reach=1_000,
)
_NEXT_LINE = rf"[^\n]{{0,200}}\n\\{{0,7}}[\"']?{ODD}"
"""Next line of a copied terminal, which holds what was fetched, or decoded."""
_ACCOUNTS = (
    r"(?<=ch)passwd[^\n|;&]{0,40}<<-?\s?[\"'\\]{0,4}\w{1,20}[\"'\\]{0,4}\n((?:[\w.-]{1,32}:[^\n]{3,200}\n?){1,100})"
)

# -- at a place of their own -------------------------------------------------------------------------------------------

_OPENED = r"\\{0,7}[\"']?"
_BEHIND_PASS = (
    rf"(?:{_ACCOUNTS}|(?<=wpa_)passphrase{_WORD}\s{_OPENED}{ODD}|(?<=change_)password{_WORD}\s{_OPENED}{ODD}"
    r"|(?<=set )password(?: for \S{1,80})?\s{0,2}(?:=|to)\s{0,2}(?:password\s?\()?\\{0,7}[\"']([^\"'\\\n]{3,}+))"
)
_BEHIND_USER = rf"(?:(?:(?<=net )|(?<=add_))user{_WORD}|(?<= /)user:\S{{1,60}}+)\s{_OPENED}{ODD}"
_SEND = (
    r"assword[:?]?[^\w\n]{0,8}\s{0,4}[^\w]{0,6}(?:[\w.]{1,20}\.)?send(?:line)?\s?[-( ]{0,3}\\{0,7}[\"']"
    r"((?!\$)[^\"'\\\s]{3,}+)"
)
_SECURE = r"securestring(?:\s-\w{1,20}){0,2}\s\(?\\{0,7}[\"'](?!\$)([^\"'\\\n]{3,}+)"
_ORACLE = rf"sqlplus\s(?:-\w{{1,10}}\s){{0,3}}{_OPENED}[\w$#]{{1,30}}/([^\s@\"'\\/]{{3,}}+)"


def _place(sign: bytes, pattern: str) -> Form:
    return Form(sign, late_pattern(pattern, re.IGNORECASE))


OPTIONS: tuple[Finder, ...] = (
    _SHORT,
    _OF_WINDOWS,
    _HERE_STRING,
    _PIPE,
    _ENCODED,
    Form(b"|", late_pattern(_DECODED + _NEXT_LINE)),
    _place(b"secret", "secrets versions access" + _NEXT_LINE),
    _place(b"pass", _BEHIND_PASS),
    _place(b"user", _BEHIND_USER),
    _place(b"assword", _SEND),
    _place(b"securestring", _SECURE),
    _place(b"sqlplus", _ORACLE),
    _place(b"login", rf"(?<=vault )login(?:\s-\S{{1,60}}+){{0,3}}\s(?:token=)?{_OPENED}{ODD}"),
    _place(b"unlock", rf"(?<=bw )unlock\s{_OPENED}{ODD}"),
)
