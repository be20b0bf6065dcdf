"""Secrets in sentences: "use … as the root password", "credentials: admin / …", words to be written down, codes."""

from __future__ import annotations

import re

from grader_daemon.redaction.finders import Before, Finder, Form
from grader_daemon.redaction.values import ODD, QUOTE, SENTENCE

_IS = r"(?:\s{1,3}(?:is|are|ist|sind|lautet|lauten)\b|\s{0,3}[:=])"
_CREDENTIALS = (
    rf"(?:cred(?:ential)?s?|log-?in(?: data)?|zugangsdaten){_IS}:?\s{{0,3}}{QUOTE}?[\w.@-]{{1,40}}\s{{0,3}}[/:|]"
    rf"\s{{0,3}}{QUOTE}?{ODD}"
)
_CODE = (
    r"(?:(?<=verification)|(?<=security)|(?<=confirmation)|(?<=recovery)|(?<=login)|(?<=one-time)|(?<=access)"
    rf"|(?<=2fa)|(?<=sms)|(?<=auth)) codes?{_IS}:?\s{{0,3}}(\d{{4,8}}|[A-Z\d]{{4,6}}-[A-Z\d]{{4,6}})(?!\w)"
)
_PIN = rf"(?:(?<!\w)|(?<=[a-z]-))PIN(?:[ -]?[Cc]ode)?{_IS}\s{{0,3}}{QUOTE}?(\d{{4,8}})(?!\w|[.]\d)"
_WORDS = r"(?:[a-z]{3,12}[ ,-]{1,2}){3,23}[a-z]{3,12}(?![\w ])"
_PHRASE = rf"phrase(?:s|_\w{{1,20}})?{QUOTE}?{_IS}\s{{0,3}}{QUOTE}?(?!{SENTENCE})({_WORDS})"
_SEED = rf"mnemonic(?:\s\w{{1,12}}){{0,3}}?{QUOTE}?{_IS}?\s{{0,3}}{QUOTE}?((?:[a-z]{{3,8}} ){{11,23}}[a-z]{{3,8}})"
_USED_AS = re.compile(rf"(?:\A|[\s\"'`(]){ODD} al?s (?:[a-z']{{1,12}} ){{0,3}}\Z")

SPOKEN: tuple[Finder, ...] = (
    *(Form(sign, re.compile(_CREDENTIALS, re.IGNORECASE)) for sign in (b"cred", b"login", b"zugangsdaten")),
    Form(b" code", re.compile(_CODE, re.IGNORECASE)),
    Form(b"pin", re.compile(_PIN)),
    Form(b"phrase", re.compile(_PHRASE, re.IGNORECASE)),
    Form(b"mnemonic", re.compile(_SEED, re.IGNORECASE)),
    Before(b"pass", re.compile(r"(?<= )pass(?:wor[dt]|phrase|code)\b", re.IGNORECASE), _USED_AS),
    Before(b"kennwort", re.compile(r"(?<= )kennwort", re.IGNORECASE), _USED_AS),
)
