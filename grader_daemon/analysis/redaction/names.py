"""Secrets that only their name gives away: settings, headers, options, fields, what a sentence calls a password.

First the name, then what joins it to a value, then the value. How much a value has to look like a secret depends on
the first two: after ``password=`` anything counts that is neither code nor a blank to fill in, after "the token is"
only letters and digits in disorder.

Patterns repeat groups within bounds, and only single characters possessively: Python 3.11 before 3.11.5 matches
possessive groups wrongly.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from grader_daemon.analysis.redaction.redactor import Finder, Span

_REACH = 26
"""Characters before a name that are looked at."""

# -- from the name to the value ----------------------------------------------------------------------------------------

_QUOTE = r"(?:\\{0,7}[\"'`]|&quot;|&\#3[49];|%2[27]|\\{1,4}u002[27])"
_TYPE = r"(?:[\w&' ]{0,12}?(?:str|bytes|[Ss]tring|SecretStr)|Optional\[\w{1,20}\])(?: ?\| ?\w{1,10})?"
_ASSIGNED = (
    rf"(?:\]|\*\*)?\s{{0,3}}(?::\s{{0,2}}{_TYPE}\s{{0,2}}=(?!=)|:=|=>|={{1,3}}|:|%3[AaDd]|\\{{1,4}}u003[ad])"
    r"[ \t]{0,8}(?:[|>][+-]?\n[ \t]{1,8})?(?:\*\*|<\w{1,12}>)?[ \t]?"
)
_ELEMENT = r"(?:</?\w{1,12}>\s{0,3}){1,4}|>(?=[^\s<])"
_PAIR = (
    r"[\s\\\"'`,;+|>{\dnrt-]{0,24}+(?:(?:[Pp]arameter|[Dd]efault|[Ss]tring)?[Vv]alue|default)"
    rf"{_QUOTE}?\s{{0,3}}[:=]\s{{0,3}}"
)
_CLAUSE = r"\s(?:\([^()\n]{1,40}\)|(?:for|to|of|on)(?:\s[\w@/-]{1,24}){1,3}?)(?::|\s(?:is|was)\s)\s{0,3}"
_JOINT = re.compile(
    rf"(?P<quoted>{_QUOTE})?(?:(?P<assigned>{_ASSIGNED}|{_ELEMENT}|{_PAIR}|{_CLAUSE})"
    r"|(?P<listed>[ \t]{0,20}\|[ \t]{0,20}|\(\s?(?=\\{0,3}[\"'])"
    r"|(?(quoted)(?:\s{0,3},\s{0,3}|(?:\r?\n|(?:\\r)?\\n){2})|(?!)))"
    r"|(?P<said>\s{1,3}(?:(?:is|was|are|to|as|be|ist|lautet|est|es)\s{1,3})?(?::\s)?))"
)
"""What stands between a name and its value; `listed` are the cells of a table and the elements of a list."""

_OPTION = re.compile(r"(?:\A|[\s\"'`(\[,=])--?[\w-]{0,24}\Z")
_ABOUT = re.compile(
    r"len|count|min|max|policy|file|path|dir|field|type|expir|ur[li]|name|prompt|hint|label|strength|limit|usage|used|ttl"
    r"|budget|size|index|format|stdin|manager|input|reset|change|attempt|age\b|scope|iz[ei]|less|ring|board|error|requir"
    r"|valid|verif|check|enabl|disabl|algo|method|[_-]at\b|[_-]?id\b|Id\b|ctl|rotat|hasher|version|provider|store|vault"
    r"|pair|map|point|cost|price|rate|window|left|total|ref\b|class|func|list|set\b|rule|kind|icon|form\b|link|page|view",
    re.IGNORECASE,
)
"""In the rest of a name: it tells about a secret, and does not hold it."""

# -- the value ---------------------------------------------------------------------------------------------------------

_CHARACTER = r"[^\s\"'`\\<>,;&|]"
_END = r"(?=[\s\"'`\\,;&|)\]}<>:=.]|\Z)"
_NAME_AGAIN = r"[\w.$ -]{0,40}?(?i:passwor[dt]|passwd|pwd|passphrase|secret|token|key|credential|auth)s?"
_FILLER = (
    r"(?i:none|null|nil|true|false|undefined|yes|no|empty|required|optional|str|string|bytes|int|integer|bool|boolean"
    r"|object|array|any|text|varchar|char|unset|missing|invalid|hidden|masked|redacted|inherit|self|default)"
)
_NO_BLANK = (
    r"(?!\[redacted\]|\*{3}|•|[xX]{4,}(?!\w)|\.{3}|…|<[^>\n]{1,60}>|\{\{|\{\w{0,30}\}(?!\w)|%[(s]|\#\{|\$[({]"
    rf"|\$[A-Z_][A-Z0-9_]*(?![a-z])|(?:{_NAME_AGAIN}|(?i:your|my|the|some|enter)[ _-][\w -]{{1,40}}|{_FILLER}){_END})"
)
"""Not what is put where a secret would stand, nor its type."""

_NO_SENTENCE = (
    r"(?![^\n\"'`]{0,60}?\b(?:must|required|invalid|is|are|should|least|field|incorrect|wrong|not|cannot|please|enter"
    r"|match|do)\b)"
)
_NO_CODE = (
    rf"(?!--|-[a-z-]+(?:[\s=]|\Z)|[A-Za-z_]+(?:\.[A-Za-z_]+)*[(\[]|[A-Za-z_]+(?:\.[A-Za-z_]+)+{_END}"
    rf"|(?<== )[a-z]+(?:_[a-z]+)+{_END}|(?<=: )(?:[A-Za-z']{{1,20}},? [A-Za-z(]|(?:[A-Z][a-z]+){{2,4}}\s?[=,)])"
    r"|[~.]?/[\w.-]{1,40}/|https?:)"
)
"""Not what programs, and sentences behind a colon, go on with."""

_NO_ALGORITHM = (
    r"(?!(?i:sha-?\d|md[45]|base-?\d\d(?!:)|utf-?\d|v?\d[\d.]{0,9}[a-z]{0,3}(?:[\s,;:)]|\Z)|rfc|oauth|ed25519|rsa|aes|hs\d|rs\d"
    r"|x509|http))"
)
_NO_WORD = r"(?![a-z_.-]{0,19}+(?:[\s\"'`\\,;&|()\[\]{}<>:=]|\Z))"
_DISORDER = r"[A-Za-z]\d|\d[A-Za-z]|[A-Z][a-z][A-Z]|[a-z][A-Z]{2}[A-Za-z]|[a-z]{20}|[A-Z]{20}"
_DISORDERLY = rf"{_NO_WORD}(?={_CHARACTER}{{8}})(?={_CHARACTER}{{0,60}}?(?:{_DISORDER})){_NO_ALGORITHM}{_NO_BLANK}"
_SPECIAL = r"\w[!#$%^*~@+?]\w"
_ODD = rf"{_NO_WORD}(?={_CHARACTER}{{6}})(?={_CHARACTER}{{0,60}}?(?:{_DISORDER}|{_SPECIAL})){_NO_ALGORITHM}{_NO_BLANK}"
_BARE = r"((?:[^\s\"'`\\<>,;&|)\]}]++|[,;&|)\]}](?![\s\"'`\\,;)\]}.]|\Z|[\w.-]{1,40}=)|\\(?![nrtu\"'`\\])){1,4000})"
"""A value without quotes: a comma or the like belongs to it unless something else follows."""

_OPENED = rf"(?:(?:[bBrRuUfF]{{1,2}}|(?:SecretStr|String(?:::from)?|Some|str|bytes)\()?(?P<q>{_QUOTE}))"
_INSIDE = r"(?!(?P=q))(?:\\[^\n]|[^\n])"
_CLOSED = rf"((?:[^\n\"'`\\&%]++|{_INSIDE}){{1,4000}})"
_SCHEME = r"(?:(?i:bearer|basic|token|digest|negotiate|apikey|hawk|bot|ssws|key|splunk|geniekey)(?:\s|%20){1,3})?"
_PAIRS = r"((?=[\w.$-]{1,64}=[^=\s])[^\n\r\"'\\]{6,}+)"

_Values = dict[str, re.Pattern[str]]
"""By the group of `_JOINT` that matched: the value that may follow; the secret is its last group."""


def _values(assigned: str, said: str, listed: str) -> _Values:
    return {"assigned": re.compile(assigned), "said": re.compile(said), "listed": re.compile(listed)}


_OF_PASSWORDS = _values(
    rf"{_OPENED}{_NO_BLANK}{_NO_SENTENCE}(?=(?:{_INSIDE}){{3}}){_CLOSED}"
    rf"|{_NO_BLANK}{_NO_CODE}(?={_CHARACTER}{{4}}){_BARE}",
    rf"[\"'](?!{_NAME_AGAIN}[\"'])([^\s\"']{{4,}}+)[\"']|{_QUOTE}?{_ODD}{_BARE}",
    rf"{_QUOTE}?{_ODD}{_BARE}",
)
_OF_TOKENS = _values(
    rf"{_OPENED}{_DISORDERLY}{_CLOSED}|{_DISORDERLY}{_NO_CODE}{_BARE}",
    rf"{_QUOTE}?{_DISORDERLY}{_BARE}",
    rf"{_QUOTE}?{_DISORDERLY}{_BARE}",
)
_LONG = r"(?=[\w+/=-]{24})"
_OF_UNKNOWN_KEYS = _values(
    rf"{_QUOTE}?{_LONG}(?![\da-f-]+\b){_DISORDERLY}{_BARE}", rf"{_QUOTE}?{_LONG}{_DISORDERLY}{_BARE}", r"(?!)"
)
_OF_HEADERS = _values(
    rf"{_QUOTE}?{_SCHEME}{_QUOTE}?{_ODD}{_BARE}",
    rf"{_QUOTE}?{_SCHEME}{_DISORDERLY}{_BARE}",
    rf"{_QUOTE}?{_SCHEME}{_DISORDERLY}{_BARE}",
)
_OF_COOKIES = _values(rf"{_QUOTE}?{_PAIRS}|\{{([^}}\n]{{8,}}+)", r"(?!)", rf"{_QUOTE}{_PAIRS}")


def _value(text: str, name: re.Match[str], values: _Values) -> Span | None:
    """Give the value that `name` is joined to, if it looks like a secret; the name of an option needs no joint."""
    joint = _JOINT.match(text, name.end())
    if joint is None or _ABOUT.search(name["rest"]):
        return None
    kind = joint.lastgroup or "said"
    if kind != "assigned" and _OPTION.search(text, max(0, name.start() - _REACH), name.start()):
        kind = "assigned"
    found = values[kind].match(text, joint.end())
    return found.span(found.lastindex or 0) if found else None


# -- the name ----------------------------------------------------------------------------------------------------------

_REST = r"(?P<rest>[\w.-]{0,30}+)"
_MORE_WORDS = r"(?:(?<=[_.-])|(?<=require)|(?<=store)|(?<=key))pass(?![a-z])|(?-i:(?<=[a-z])Pass(?![a-z]))"
_SHORT_WORDS = r"pass(?=\\*[\"']\s?[:=]|=|:(?=\S{0,40}[A-Za-z])\S{0,40}\d)"
_WORDS = rf"(?:pass(?:wor[dt]|wd|phrase|code|key)s?|{_MORE_WORDS}|{_SHORT_WORDS}|(?<=mot de )passe)"
_PROTECTED = (
    *("api", "app", "access", "secret", "private", "auth", "sign", "signing", "encrypt", "encryption", "master"),
    *("account", "service", "server", "license", "licence", "deploy", "ssh", "shared", "subscription", "client"),
    *("storage", "admin", "root", "function", "session", "cookie", "jwt", "hmac", "aes", "webhook", "project", "write"),
    *("read", "live", "test", "sandbox", "merchant", "integration", "host", "device"),
)


class _Name(NamedTuple):
    """A word in the names of secrets, and how their values look."""

    sign: bytes
    name: re.Pattern[str]
    values: _Values

    def look(self, text: str, position: int) -> Span | None:
        """See `Finder.look`."""
        name = self.name.match(text, position)
        return _value(text, name, self.values) if name else None


class _KeyName:
    """A key is a secret by what it opens, which stands before the word; behind any other word, if it looks like one."""

    sign = b"key"
    _name = re.compile(rf"keys?{_REST}", re.IGNORECASE)

    def look(self, text: str, position: int) -> Span | None:
        """See `Finder.look`."""
        before = text[max(0, position - _REACH) : position]
        name = self._name.match(text, position)
        if name and before.lower().rstrip(" _.-").endswith(_PROTECTED):
            return _value(text, name, _OF_PASSWORDS)
        if name and before.endswith(("_", "-")):
            return _value(text, name, _OF_TOKENS if before[-2:-1].isupper() else _OF_UNKNOWN_KEYS)
        return None


def _name(sign: str, pattern: str, values: _Values) -> _Name:
    return _Name(sign.encode(), re.compile(pattern, re.IGNORECASE), values)


NAMES: tuple[Finder, ...] = (
    _name("pass", _WORDS + _REST, _OF_PASSWORDS),
    _name("pw", rf"(?:pwd|(?<![a-z])pw|(?<=[_-])pw)(?![a-z]|=/|: /){_REST}", _OF_PASSWORDS),
    _name("secret", rf"secret(?!s(?!\w)){_REST}", _OF_PASSWORDS),
    _KeyName(),
    _name("token", rf"tokens?{_REST}", _OF_TOKENS),
    _name("&", r"&(?:amp;|x-amz-|x-goog-){0,2}sig(?:nature)?(?P<rest>)(?==)", _OF_TOKENS),
    _name("?sig", r"\?sig(?:nature)?(?P<rest>)(?==)", _OF_TOKENS),
    _name("auth", r"auth(?:orization)?(?P<rest>(?:[_-](?:header|value|code))?)(?![\w-])", _OF_HEADERS),
    _name("cookie", r"cookies?(?P<rest>)(?!\w)", _OF_COOKIES),
)
