"""Values behind the name of a secret: is it one, and where does it end?

How much it has to look like a secret depends on what led there: behind ``password=`` anything counts that is neither
code nor a blank to fill in, behind "the token is" only letters and digits in disorder.

Patterns repeat groups within bounds, and only single characters possessively: Python 3.11 before 3.11.5 matches
possessive groups wrongly.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

from grader_daemon.domain.late_pattern import late_pattern
from grader_daemon.redaction.finders import Span

QUOTE = r"(?:\\{0,7}[\"'`]|&quot;|&\#3[49];|%2[27]|\\{1,4}u002[27])"

_CHARACTER = r"[^\s\"'`\\<>,;&|]"
_END = r"(?=[\s\"'`\\,;&|)\]}<>:=.]|\Z)"
_FOURS = r"[a-z]{4}(?: [a-z]{4}){3}(?!\w)"
"""The password of an application, as Google shows it."""

_NAME_AGAIN = r"[\w.$ -]{0,40}?(?i:passwor[dt]|passwd|pwd|passphrase|secret|token|key|credential|auth)s?"
_FILLER = (
    r"(?i:none|null|nil|true|false|undefined|yes|no|empty|required|optional|str|string|bytes|int|integer|bool|boolean"
    r"|object|array|any|text|varchar|char|unset|missing|invalid|hidden|masked|redacted|inherit|self|default)"
)
_BLANK = late_pattern(
    r"\[redacted\]|\*{3}|•|[xX]{4,}(?!\w)|\.{3}|…|<[^>\n]{1,60}>|\{\{|\{\w{0,30}\}(?!\w)|%[(s]|\#\{|\$[({]"
    rf"|\$[A-Z_][A-Z0-9_]*(?![a-z])|(?:{_NAME_AGAIN}|(?i:your|my|the|some|enter)[ _-][\w -]{{1,40}}|{_FILLER}){_END}"
)
"""Placeholder in the place of a secret, or its type."""

SENTENCE = (
    r"[^\n\"'`]{0,60}?\b(?:must|required|invalid|is|are|should|least|field|incorrect|wrong|not|cannot|please|enter"
    r"|match|do)\b"
)
_CODE = late_pattern(
    rf"--|-[a-z-]+(?:[\s=]|\Z)|[A-Za-z_]+(?:\.[A-Za-z_]+)*[(\[]|[A-Za-z_]+(?:\.[A-Za-z_]+)+{_END}"
    rf"|(?<== )[a-z]+(?:_[a-z]+)+{_END}|(?<=: )(?!{_FOURS})(?:[^\W\d_]|'){{1,20}},? [^\W\d_(]"
    rf"|(?<=: )(?:[A-Z][a-z]+){{2,4}}\s?[=,)]"
    r"|[~.]?/[\w.-]{1,40}/|https?:"
)
"""Continuations of programs, and of sentences behind a colon."""

_ALGORITHM = late_pattern(
    r"sha-?\d|md[45]|base-?\d\d(?!:)|utf-?\d|v?\d[\d.]{0,9}[a-z]{0,3}(?:[\s,;:)]|\Z)|rfc|oauth|ed25519|rsa|aes|hs\d|rs\d"
    r"|x509|http",
    re.IGNORECASE,
)
_PATH = late_pattern(r"[~.]{0,2}/[a-z_][\w.-]{0,40}/|(?:[\w.@+-]{1,60}/){1,12}[\w.@+-]{0,60}\.[a-z]\w{0,5}(?![\w/+=])")
_NO_WORD = r"(?![a-z_.-]{0,19}+(?:[\s\"'`\\,;&|()\[\]{}<>:=]|\Z))"
_MIXED = r"[A-Za-z]\d|\d[A-Za-z]|[A-Z][a-z][A-Z]|[a-z][A-Z]{2}[A-Za-z]|[a-z]{20}|[A-Z]{20}"
_SPECIAL = r"\w[!#$%^*~@+?]\w"
_DISORDER = rf"{_NO_WORD}(?={_CHARACTER}{{8}})(?={_CHARACTER}{{0,60}}?(?:{_MIXED}))"
ODDITY = rf"{_NO_WORD}(?={_CHARACTER}{{6}})(?={_CHARACTER}{{0,60}}?(?:{_MIXED}|{_SPECIAL}))"
ODD = rf"({ODDITY}{_CHARACTER}{{6,}}+)"
"""A word that is no word, as passwords are which nothing but their place tells."""

_LONG = rf"(?=[\w+/=-]{{24}})(?![\da-f-]+\b){_DISORDER}"

_BARE = late_pattern(
    rf"{_FOURS}|"
    r"(?:[^\s\"'`\\<>,;&|)\]}]++|[,;&|)\]}](?![\s\"'`\\,;)\]}.]|\Z|[\w.-]{1,40}=)|\\(?![nrtu\"'`\\])){1,4000}"
)
"""A value without quotes: a comma or the like belongs to it unless something else follows."""


_SHORTEST = 3


@lru_cache(maxsize=64)
def _closed_by(quote: str) -> re.Pattern[str]:
    return re.compile(rf"(?:[^\n\"'`\\&%]++|(?!{re.escape(quote)})(?:\\[^\n]|[^\n])){{1,4000}}")


class Rule(NamedTuple):
    """Rule for the beginning of a value: what it is like, and what it is not like."""

    like: re.Pattern[str]
    unlike: tuple[re.Pattern[str], ...]


class Value(NamedTuple):
    """The value of a name: what may open it (a group for its quote, if one ends it), and a rule for either case."""

    opening: re.Pattern[str]
    quoted: Rule
    bare: Rule

    def at(self, text: str, position: int) -> Span | None:
        """Return the secret that begins at `position`, behind its opening; None if it is none."""
        opening = self.opening.match(text, position)
        if opening is None:
            return None
        rule = self.quoted if opening.lastindex else self.bare
        start = opening.end()
        if not rule.like.match(text, start) or any(unlike.match(text, start) for unlike in rule.unlike):
            return None
        reach = _closed_by(opening[1]) if opening.lastindex else _BARE
        found = reach.match(text, start)
        return found.span() if found and found.end() - start >= _SHORTEST else None


class Values(NamedTuple):
    """The values of one name: assigned to it, among cells or elements of a list, and said in a sentence."""

    assigned: Value
    listed: Value
    said: Value


_OPENED = late_pattern(rf"(?:(?:[bBrRuUfF]{{1,2}}|(?:SecretStr|String(?:::from)?|Some|str|bytes)\()?({QUOTE}))?")
_UNQUOTED = late_pattern(rf"{QUOTE}?")
_SCHEMES = r"(?i:bearer|basic|token|digest|negotiate|apikey|hawk|bot|ssws|key|splunk|geniekey)"
_SCHEME = late_pattern(rf"{QUOTE}?(?:{_SCHEMES}(?:\s|%20){{1,3}})?{QUOTE}?")
_NEVER = late_pattern(r"(?!)")

_disorderly = Rule(late_pattern(_DISORDER), (_ALGORITHM, _PATH, _BLANK))
_odd = Rule(late_pattern(ODDITY), (_ALGORITHM, _PATH, _BLANK))
_long = Rule(late_pattern(_LONG), (_ALGORITHM, _PATH, _BLANK))


def _one(opening: re.Pattern[str], rule: Rule) -> Value:
    return Value(opening, rule, rule)


OF_PASSWORDS = Values(
    assigned=Value(
        _OPENED,
        quoted=Rule(late_pattern(""), (_BLANK, late_pattern(SENTENCE))),
        bare=Rule(late_pattern(rf"{_CHARACTER}{{4}}"), (_BLANK, _CODE)),
    ),
    listed=_one(_UNQUOTED, _odd),
    said=Value(
        _OPENED, quoted=Rule(late_pattern(rf"[^\s\"']{{4,200}}+[\"']|{ODDITY}"), (_ALGORITHM, _PATH, _BLANK)), bare=_odd
    ),
)
OF_TOKENS = Values(
    assigned=Value(_OPENED, quoted=_disorderly, bare=Rule(_disorderly.like, (_ALGORITHM, _PATH, _BLANK, _CODE))),
    listed=_one(_UNQUOTED, _disorderly),
    said=_one(_UNQUOTED, _disorderly),
)
OF_SHORT_NAMES = Values(
    assigned=Value(_OPENED, quoted=_odd, bare=_odd), listed=_one(_NEVER, _odd), said=_one(_UNQUOTED, _odd)
)
"""Names that mean other things as well."""

OF_UNKNOWN_KEYS = Values(assigned=_one(_UNQUOTED, _long), listed=_one(_NEVER, _long), said=_one(_UNQUOTED, _long))
OF_HEADERS = Values(assigned=_one(_SCHEME, _odd), listed=_one(_SCHEME, _disorderly), said=_one(_SCHEME, _disorderly))
