"""Secrets that only their name gives away: settings, headers, options, fields, sentences.

First the name, then what joins it to a value, then the value (`values`).
"""

from __future__ import annotations

import re
from typing import NamedTuple

from grader_daemon.domain.late_pattern import late_pattern
from grader_daemon.redaction.finders import Before, Finder, Form, Span
from grader_daemon.redaction.values import (
    ODD,
    OF_HEADERS,
    OF_PASSWORDS,
    OF_SHORT_NAMES,
    OF_TOKENS,
    OF_UNKNOWN_KEYS,
    QUOTE,
    SENTENCE,
    Values,
)

_REACH = 26
"""Characters before a name that are looked at."""

# -- from the name to the value ----------------------------------------------------------------------------------------

_TYPE = r"(?:[\w&' ]{0,12}?(?:str|bytes|[Ss]tring|SecretStr)|Optional\[\w{1,20}\])(?: ?\| ?\w{1,10})?"
_ASSIGNED = (
    rf"(?:\]|\*\*)?\s{{0,3}}(?::\s{{0,2}}{_TYPE}\s{{0,2}}=(?!=)|:=|=>|={{1,3}}|:|：|是|は)"
    r"[ \t]{0,8}(?:[|>][+-]?\n[ \t]{1,8})?(?:\*\*|<\w{1,12}>)?[ \t]?"
)
_ELEMENT = r"(?:</?\w{1,12}>\s{0,3}){1,4}|>(?=[^\s<])"
_PAIR = (
    r"[\s\\\"'`,;+|>{\dnrt-]{0,24}+(?:(?:[Pp]arameter|[Dd]efault|[Ss]tring)?[Vv]alue|default)"
    rf"{QUOTE}?\s{{0,3}}[:=]\s{{0,3}}"
)
_CLAUSE = r"\s(?:\([^()\n]{1,40}\)|(?:for|to|of|on)(?:\s[\w@/.'\"-]{1,60}){1,3}?)(?::|\s(?:is|was)\s)\s{0,3}"
_JOINT = late_pattern(
    rf"(?P<quoted>{QUOTE})?(?:(?P<assigned>{_ASSIGNED}|{_ELEMENT}|{_PAIR}|{_CLAUSE})"
    r"|(?P<listed>[ \t]{0,20}\|[ \t]{0,20}|\(\s?(?=\\{0,3}[\"'])"
    r"|(?(quoted)(?:\s{0,3},\s{0,3}|(?:\r?\n|(?:\\r)?\\n){2})|(?!)))"
    r"|(?P<said>(?:'s)?\s{1,3}(?:(?:is|was|are|to|as|be|ist|lautet|est|c'est|es|è|é|jest|это|→|—|–)(?:\s{1,3}|(?=:)))?"
    r"(?:(?:now|(?:set|reset|changed) to)\s{1,3})?(?::\s)?))"
)
"""Joint between a name and its value; `listed` are the cells of a table and the elements of a list."""

_OPTION = late_pattern(r"(?:\A|[\s\"'`(\[,=])--?[\w-]{0,24}\Z")
_ABOUT = late_pattern(
    r"len|count|min|max|policy|file|path|dir|field|type|expir|ur[li]|name|prompt|hint|label|strength|limit|usage|used|ttl"
    r"|budget|size|index|format|stdin|manager|input|reset|change|attempt|age\b|scope|iz[ei]|less|ring|board|error|requir"
    r"|valid|verif|check|enabl|disabl|algo|method|[_-]at\b|[_-]?id\b|Id\b|ctl|rotat|hasher|version|provider|store|vault"
    r"|pair|map|point|cost|price|rate|window|left|total|ref\b|class|func|list|set\b|rule|kind|icon|form\b|link|page|view",
    re.IGNORECASE,
)
"""Rest of a name that tells about a secret, and does not hold it."""


def _value(text: str, name: re.Match[str], values: Values) -> Span | None:
    """Return the value that `name` is joined to, if it looks like a secret; the name of an option needs no joint."""
    joint = _JOINT.match(text, name.end())
    if joint is None or _ABOUT.search(name["rest"]):
        return None
    if joint["assigned"] is not None or _OPTION.search(text, max(0, name.start() - _REACH), name.start()):
        return values.assigned.at(text, joint.end())
    if joint["listed"] is not None:
        return values.listed.at(text, joint.end())
    return None if "." in name["rest"] else values.said.at(text, joint.end())


# -- the name ----------------------------------------------------------------------------------------------------------

_REST = r"(?P<rest>[\w.-]{0,30}+)"
_MORE_WORDS = r"(?:(?<=[_.-])|(?<=require)|(?<=store)|(?<=key))pass(?![a-z])|(?-i:(?<=[a-z])Pass(?![a-z]))"
_SHORT_WORDS = r"(?<!com)pass(?=\\*[\"']\s?[:=]|=|:(?=\S{0,40}[A-Za-z])\S{0,40}\d)"
_WORDS = rf"(?:pass(?:wor[dt]|wd|phrase|code|key)s?|{_MORE_WORDS}|{_SHORT_WORDS}|(?<=mot[ _-]de[ _-])passe)"
_PROTECTED = (
    *("api", "app", "access", "secret", "private", "auth", "sign", "signing", "encrypt", "encryption", "master"),
    *("account", "service", "server", "license", "licence", "deploy", "ssh", "shared", "subscription", "client"),
    *("storage", "admin", "root", "function", "session", "cookie", "jwt", "hmac", "aes", "webhook", "project", "write"),
    *("read", "live", "test", "sandbox", "merchant", "integration", "host", "device", "priv"),
    *("zugangs", "zugriffs", "lizenz", "geheim", "geheimer", "privater"),
)


class _Name(NamedTuple):
    """A word in the names of secrets, and how their values look."""

    sign: bytes | str
    name: re.Pattern[str]
    values: Values

    def look(self, text: str, position: int) -> Span | None:
        """See `Finder.look`."""
        name = self.name.match(text, position)
        return _value(text, name, self.values) if name else None


class _KeyName(NamedTuple):
    """A key is a secret by what it opens, which stands before the word; behind any other word, if it looks like one."""

    sign: bytes | str
    name: re.Pattern[str]

    def look(self, text: str, position: int) -> Span | None:
        """See `Finder.look`."""
        before = text[max(0, position - _REACH) : position]
        name = self.name.match(text, position)
        if name and before.lower().rstrip(" _.-").endswith(_PROTECTED):
            return _value(text, name, OF_PASSWORDS)
        if name and before.endswith(("_", "-")):
            return _value(text, name, OF_TOKENS if before[-2:-1].isupper() else OF_UNKNOWN_KEYS)
        return None


def _sign(word: str) -> bytes | str:
    return word.encode() if word.isascii() else word


def _key(word: str) -> _KeyName:
    return _KeyName(_sign(word), late_pattern(rf"{word}s?{_REST}", re.IGNORECASE))


def _name(sign: str, pattern: str, values: Values) -> _Name:
    return _Name(_sign(sign), late_pattern(pattern, re.IGNORECASE), values)


# -- in sentences -----------------------------------------------------------------------------------------------------

_IS = r"(?:\s{1,3}(?:is|are|ist|sind|lautet|lauten)\b|\s{0,3}[:=])"
_LOGIN = (
    rf"(?:(?<=log)|(?<=log[ -])|(?<=sign[ -]))in as {QUOTE}?[\w.@-]{{1,40}}{QUOTE}?\s{{0,3}}[/:|]\s{{0,3}}{QUOTE}?{ODD}"
)
_CREDENTIALS = (
    rf"(?:cred(?:ential)?s?|log-?in(?: data)?|zugangsdaten){_IS}:?\s{{0,3}}{QUOTE}?[\w.@-]{{1,40}}\s{{0,3}}[/:|]"
    rf"\s{{0,3}}{QUOTE}?{ODD}"
)
_CODE = (
    r"(?:(?<=verification)|(?<=security)|(?<=confirmation)|(?<=recovery)|(?<=login)|(?<=one-time)|(?<=access)"
    rf"|(?<=2fa)|(?<=sms)|(?<=auth)) codes?{_IS}:?\s{{0,3}}(\d{{4,8}}|[A-Z\d]{{4,6}}-[A-Z\d]{{4,6}})(?!\w)"
)
_PIN = rf"(?:(?<!\w)|(?<=[a-z]-))PIN(?:[ -]?[Cc]ode)?{_IS}\s{{0,3}}{QUOTE}?(\d{{4,8}})(?!\w|[.]\d)"
_PHRASE_WORDS = r"(?:[a-z]{3,12}[ ,-]{1,2}){3,23}[a-z]{3,12}(?![\w ])"
_PHRASE = rf"phrase(?:s|_\w{{1,20}})?{QUOTE}?{_IS}\s{{0,3}}{QUOTE}?(?!{SENTENCE})({_PHRASE_WORDS})"
_SEED = rf"mnemonic(?:\s\w{{1,12}}){{0,3}}?{QUOTE}?{_IS}?\s{{0,3}}{QUOTE}?((?:[a-z]{{3,8}} ){{11,23}}[a-z]{{3,8}})"
_USED_AS = late_pattern(rf"(?:\A|[\s\"'`(]){ODD} al?s (?:[a-z']{{1,12}} ){{0,3}}\Z")

NAMES: tuple[Finder, ...] = (
    _name("pass", _WORDS + _REST, OF_PASSWORDS),
    _name("pw", rf"(?:pwd|(?<![a-z])pw|(?<=[_-])pw)(?![a-z]|=/|: /){_REST}", OF_PASSWORDS),
    _name("secret", rf"secret(?!s(?!\w)){_REST}", OF_PASSWORDS),
    *map(_key, ("key", "schlüssel", "Schlüssel")),
    _name("token", rf"tokens?{_REST}", OF_TOKENS),
    _name("&", r"&(?:amp;|x-amz-|x-goog-){0,2}sig(?:nature)?(?P<rest>)(?==)", OF_TOKENS),
    _name("?sig", r"\?sig(?:nature)?(?P<rest>)(?==)", OF_TOKENS),
    _name("auth", r"auth(?:orization)?(?P<rest>(?:[_-](?:header|value|code))?)(?![\w-])", OF_HEADERS),
    _name("pass", r"(?<!\w)pass(?=\s{0,3}[:=]\s)(?P<rest>)", OF_SHORT_NAMES),
    _name("psk", rf"(?<![a-z])psk(?![a-z]){_REST}", OF_PASSWORDS),
    _name("geheimnis", rf"geheimnis{_REST}", OF_SHORT_NAMES),
    _name("kennwort", rf"kennwort{_REST}", OF_PASSWORDS),
    _name("contrase", rf"contrase[ñn]as?{_REST}", OF_PASSWORDS),
    _name("senha", rf"(?<!\w)senha{_REST}", OF_PASSWORDS),
    _name("wachtwoord", rf"wachtwoord{_REST}", OF_PASSWORDS),
    _name("ösenord", rf"(?<=l)ösenord{_REST}", OF_PASSWORDS),
    _name("asło", rf"(?<=h)asło{_REST}", OF_PASSWORDS),
    _name("ароль", rf"(?<=п)ароль{_REST}", OF_PASSWORDS),
    *(_name(word, rf"{word}(?P<rest>)", OF_PASSWORDS) for word in ("密码", "密碼", "口令", "パスワード", "비밀번호")),
    *(_name(word, rf"{word}(?P<rest>)", OF_TOKENS) for word in ("密钥", "密鑰", "令牌")),
    _name("otp", rf"otp[ _-]?seeds?{_REST}", OF_TOKENS),
    _name("clave", r"(?<!\w)clave(?P<rest>)", OF_SHORT_NAMES),
    _name("lé", r"(?<=c)lés? (?:d['’])?(?:api|acc[èe]s|secr[èe]te|priv[ée]e)(?P<rest>)", OF_TOKENS),
    *(Form(sign, late_pattern(_CREDENTIALS, re.IGNORECASE)) for sign in (b"cred", b"login", b"zugangsdaten")),
    Form(b"in as ", late_pattern(_LOGIN, re.IGNORECASE)),
    Form(b" code", late_pattern(_CODE, re.IGNORECASE)),
    Form(b"pin", late_pattern(_PIN)),
    Form(b"phrase", late_pattern(_PHRASE, re.IGNORECASE)),
    Form(b"mnemonic", late_pattern(_SEED, re.IGNORECASE)),
    Before(b"pass", late_pattern(r"(?<= )pass(?:wor[dt]|phrase|code)\b", re.IGNORECASE), _USED_AS),
    Before(b"kennwort", late_pattern(r"(?<= )kennwort", re.IGNORECASE), _USED_AS),
)
