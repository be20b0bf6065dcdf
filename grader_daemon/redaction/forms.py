r"""Secrets that their form gives away, wherever they stand.

Formats are those that services document or that they publish for scanners. A token may be glued to an escape that
stands for another character: ``\nghp_…`` in JSON, ``%3Dghp_…`` in a URL, the end of a colour on a terminal.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from grader_daemon.domain.late_pattern import late_pattern
from grader_daemon.redaction.finders import CONTINUED, LONG_WORD, Before, Finder, Form, Span

_LINE_END = 80
"""Characters before a line in which the beginning of a token is looked for."""

_ESCAPE = r"(?:(?<=\\)(?:[abfnrtv0]|x[\da-fA-F]{2}|u[\da-fA-F]{4})|(?<=%)[\da-fA-F]{2}|(?<=[\[;])\d{1,3}m)"
_GLUED = rf"[_~-]{{0,8}}{_ESCAPE}?[_~-]{{0,3}}"

_BEFORE_ANYTHING = (
    r"(?:github_pat_|gl(?:pat|dt|rt|cbt|ptt|ft|soat|imt|agent|oas|ffct)-|GR1348941|pypi-|dckr_[po]at_|AT[AC]TT3|PMAK-"
    r"|ops_eyJ|glsa_|glc_|xox[a-z]-|xapp-|xwfp-|xkeysib-|xsmtpsib-|sq0[ac][a-z]p-|tskey-|GOCSPX-|sb_secret_"
    r"|pscale_(?:tkn|pw)_|CFPAT-|FLWSECK|lin_(?:api|oauth)_|figd_|lsv2_|nvapi-|[sprk]k_(?:live|test)_|rzp_(?:live|test)_"
    r"|pplx-|tvly-|fo1_|bkua_|CCIPAT_|api_org_|pcsk_)"
)
_BEFORE_LETTERS_AND_DIGITS = (
    r"(?:gh[pousr]_|npm_|hf_|r8_|gsk_|csk-|xai-|whsec_|ATBB|AKCp|ABSK|LTAI|AKID|NRAK-|ntn_|HRKU-|nfp_|sgp_|jina_"
    r"|secret_)"
)
_BEFORE_HEXADECIMALS = (
    r"(?:do[opr]_v1_|dapi|sq[pua]_|sbp_|shp(?:at|ss|ca|pa)_|rubygems_|sntryu_|pul-|key-|SK|AC|sk_|fio-u-|EZ[AT]K)"
)
_IDS = (
    "session|ses|conv|conversation|chat|task|job|cron|trace|span|prt"
    "|call|toolu|tooluse|chatcmpl|cmpl|msg|req|resp|run|thread|asst|file|fc|rs|step|batch|evt|sha\\d{1,3}"
)
"""Prefixes of ids of sessions, calls and messages by agents and models, which look like tokens."""

_ANY_SERVICE = (
    rf"(?!(?:{_IDS})[_-])[a-z][a-z0-9]{{1,9}}[_-](?:[a-z0-9]{{1,10}}[_-]){{0,3}}"
    r"(?=[a-z0-9]{0,40}[A-Z])(?=[A-Z0-9]{0,40}[a-z])(?=[A-Za-z]{0,40}\d)[A-Za-z0-9]{24,}+"
)
"""Token of a service that is not in the list: a short word, then 24 and more letters and digits in disorder."""

_TOKENS = (
    rf"{_BEFORE_ANYTHING}[\w-]{{16,}}+(?:\.[\w-]{{16,}}+){{0,4}}",
    r"(?:sntrys_|fm[12]_)[\w+/=-]{16,}+",
    rf"{_BEFORE_LETTERS_AND_DIGITS}(?=[A-Za-z]{{0,60}}?(?:\d|[a-z][A-Z]))[A-Za-z0-9]{{14,}}+",
    rf"{_BEFORE_HEXADECIMALS}[\da-f]{{32,}}+(?![G-Zg-z])",
    r"sk-(?!learn|image)(?=[A-Za-z_-]{0,60}\d)[\w-]{16,}+",
    r"(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}(?![A-Za-z0-9])",
    r"(?:IQoJb3JpZ2lu|[FI]woGZXIvYXdz|FQoGZXIvYXdz)[\w+/=%]{40,}+",
    r"AIza[\w-]{30,}+",
    r"eyJ[\w-]{8,}+(?:\.[\w-]{4,}+){1,4}|eyJ(?:hbGci|0eXAi|raWQi)[\w-]{8,}+",
    r"[\da-f]{32}-us\d{1,2}(?!\w)|[\da-f]{32}-[\da-f]{8}-[\da-f]{8}(?![\w-])",
    r"(?:sdk|api|mob)-[\da-f]{8}-[\da-f]{4}-[\da-f]{4}-[\da-f]{4}-[\da-f]{12}",
    r"[MNO][\w-]{23,27}\.[\w-]{6}\.[\w-]{27,40}",
    r"(?<=pat\w{14}\.)[\da-f]{64}|pat-[a-z]{2}\d-[\da-f-]{36}",
    r"re_[A-Za-z0-9]{6,10}_[A-Za-z0-9]{20,}+|oy2[a-z2-7]{43}(?!\w)|cio[A-Za-z0-9]{32}(?!\w)",
    r"EAA[A-Za-z0-9]{60,}+|EAAA[\w-]{60}",
    r"A{18,24}(?=[\w%]{0,60}\d)[B-Za-z0-9%][A-Za-z0-9%]{59,}+(?![+/=])",
    r"(?:5[hjk][1-9a-km-z]{49}|5[HJK][1-9A-HJ-NP-Za-km-z]{49}|(?=\w{0,40}\d)[KL][1-9A-HJ-NP-Za-km-z]{51})(?!\w)",
    r"AGE-SECRET-KEY-1[A-Z0-9]{20,}+|nsec1[a-z0-9]{50,}+|xprv[A-Za-z0-9]{100,}+",
    r"LS0tLS1CRUdJTi(?:BSU0EgUFJJ|BQUklWQVRF|BPUEVOU1NI|BFQyBQUklW|BFTkNSWVBU|BEU0EgUFJJ)[\w+/=]{16,}+",
    r"(?<=SG\.)[\w-]{16,}+\.[\w-]{16,}+",
    r"(?:(?<=ya29\.)|(?<=hv[sbr]\.))[\w.-]{20,}+|(?:(?<=1//)|(?<=1%2F%2F))0[\w-]{20,}+",
    r"(?:(?<=dp\.[a-z]{2}\.)|(?<=dp\.st\.[a-z]{3}\.)|(?<=dp\.st\.[a-z]{4}\.))\w{36,}+|fc-[\da-f]{32}(?![\w-])|(?:(?<=sl\.)|(?<=\.atlasv1\.))[\w-]{60,}+",
    r"(?<=dt0c01\.)[A-Z0-9]{24}\.[A-Z0-9]{64}",
    r"(?:(?<=\d{8}:)|(?<=\d{8}%3A))[\w-]{35}(?![\w-])",
    _ANY_SERVICE,
)

_BEGINNING = late_pattern(
    rf"(?<![\w-])((?:{_BEFORE_ANYTHING}|{_BEFORE_LETTERS_AND_DIGITS}|sk-|AIza|eyJ)[\w-]{{0,24}})\r?\n[ \t]{{0,8}}\Z"
)


_BEFORE_A_LINE = ("\n", " ", "\t")


class _Wrapped(NamedTuple):
    """The rest of a token on a line of its own, whose beginning at the end of the line before is too short for one."""

    sign: bytes = LONG_WORD

    def look(self, text: str, position: int) -> Span | None:
        """See `Finder.look`."""
        if text[position - 1 : position] not in _BEFORE_A_LINE:
            return None
        beginning = _BEGINNING.search(text, max(0, position - _LINE_END), position)
        rest = CONTINUED.match(text, position) if beginning else None
        return (beginning.start(1), rest.end()) if beginning and rest else None


_GAP = r"(?:[^A-Za-z0-9+/=]|\\[nrt]|\d{1,6}(?![A-Za-z0-9+/=])){0,40}"
_KEY_HEADER = r"(?:Proc-Type|DEK-Info|Comment|Version|Encryption)"
_KEY_LINES = (
    rf"(?:{_GAP}(?:[A-Za-z0-9+/=]{{16,}}+|{_KEY_HEADER}: [^\n\\]{{1,100}}+)){{0,400}}"
    r"(?:(?:\s|\\{1,8}[nr]|[+|>#*/-]|\d{1,6}\|){1,20}[A-Za-z0-9+/=]{1,15}+(?=\s*(?:\n|\\|[\"'`<]|\Z)))?"
)
"""The lines of a key without its end, however they are quoted, numbered or indented, with the rest of a cut one."""

_PRIVATE_KEY = (
    r"-----begin (?:[A-Z0-9 ]{0,40} )?PRIVATE KEY(?: BLOCK)?-----"
    rf"(?:[^-]*+(?:-(?!----)[^-]*+){{0,4000}}-----END [A-Z0-9 ]{{0,40}}PRIVATE KEY(?: BLOCK)?-----|{_KEY_LINES})"
)
_PUTTY_KEY = rf"private-lines: ?\d{{0,4}}({_KEY_LINES}(?:\s{{1,4}}Private-MAC: ?[\da-f]{{40,}}+)?)"
_NO_PORT = r"(?!\d{1,5}(?:[/?#]|\s|$))"
_USER_INFORMATION = (
    r"://(?:[^\s/:@\"'<>]{0,100}:(?:"
    rf"{_NO_PORT}([^\s/\"'<>\\`]{{1,200}})@|{_NO_PORT}([^\s@\"'<>\\`]{{1,200}})@)"
    r"|((?=[^\s/:@]{0,60}?\d)[\w.~%+-]{16,200})@)"
)
_WEBHOOK = (
    r"hooks\.slack\.com/(?:services|workflows|triggers)/([\w/+-]{20,}+)|hooks/(\d{15,22}/[\w-]{40,}+)"
    r"|hook\.office\.com/([\w@/-]{60,}+)|hooks\.zapier\.com/hooks/catch/([\w/]{8,}+)"
)
_HASH = (
    r"\$(?:1|5|6|7|y|gy|2[abxy]?|P|H|S|apr1|md5|argon2(?:id?|d)|scrypt|bcrypt)\\{0,2}\$([\w./+=,$\\-]{16,}+)"
    r"|(?:(?<=pbkdf2_sha256)|(?<=pbkdf2_sha1)|(?<=pbkdf2-sha256)|(?<=pbkdf2-sha512))\$(\d{3,8}\$[\w./+=-]{4,}+\$[\w./+=-]{16,}+)"
)
_PGPASS_LINE = r":5432:[^\s:]{1,64}:[^\s:]{1,64}:([^\s\"'\\]{3,}+)"
_QUOTE = r"\\{0,7}[\"'`]"
_PAIRS = r"(?=[\w.$-]{1,64}=[^=\s])[^\n\r\"'\\]{6,}+"
_COOKIES = rf"cookies?(?:{_QUOTE})?\s{{0,3}}[:=,]\s{{0,3}}(?:(?:{_QUOTE})?({_PAIRS})|\{{([^}}\n]{{8,}}+))"
_SCHEME = r"(?:\s|\\\n|%20|[:=]|\\{0,3}[\"']){1,4}"
_RANDOM = r"(?=[\w.~+/=-]{0,60}?(?:[A-Za-z]\d|\d[A-Za-z]|[A-Z][a-z][A-Z]|[a-z][A-Z]{2}))"
_BEARER = rf"(?i:bearer){_SCHEME}({_RANDOM}[\w.~+/=-]{{8,}}+)"


_AT_HOST = Before(
    b"@",
    late_pattern(r"@(?:(?:tcp|unix)\(|[\w.-]{1,60}:\d{2,5}\b|\d{1,3}\.\d{1,3}\.)"),
    late_pattern(rf"(?<![\w/.])(?:[\w.-]{{1,32}}/)?[\w.-]{{1,32}}:(?!//)({_RANDOM}[^\s:@/\"'\\]{{6,64}})\Z"),
)
"""A user and a password in front of a host, without a scheme: ``app:…@tcp(db:3306)``, ``me:…@10.0.0.5:8080``."""

_IN_QUOTES = r"(?:\\{0,7}\")?"
_ENTRY = rf"{_IN_QUOTES}[\w.-]{{1,80}}{_IN_QUOTES}: ?{_IN_QUOTES}"
_CODED = r"[\w+/=]{4,}+"
_DATA = late_pattern(
    rf"(?<!\w)data{_IN_QUOTES}:\s{{0,4}}\{{?\s{{0,12}}{_ENTRY}(?P<values>{_CODED}(?:{_IN_QUOTES}[\s,]{{1,12}}{_ENTRY}{_CODED}){{0,60}})"
)
_KIND = late_pattern(rf"kind{_IN_QUOTES}: ?{_IN_QUOTES}\Z")
_KIND_REACH = 24
_MANIFEST = 600


class _Manifest(NamedTuple):
    """The values of a secret of Kubernetes, whatever their keys are called: next before, or next behind its kind."""

    before: bool
    sign: bytes = b"secret"

    def look(self, text: str, position: int) -> Span | None:
        """See `Finder.look`."""
        if not _KIND.search(text, max(0, position - _KIND_REACH), position):
            return None
        start, end = (max(0, position - _MANIFEST), position) if self.before else (position, position + _MANIFEST)
        found = list(_DATA.finditer(text, start, end))
        return found[-1 if self.before else 0].span("values") if found else None


_WINDOWS_HASH = Before(b":::", late_pattern(":::"), late_pattern(r"(?<![\da-f])([\da-fA-F]{32})\Z"))

FORMS: tuple[Finder, ...] = (
    Form(LONG_WORD, late_pattern(rf"{_GLUED}({'|'.join(_TOKENS)})")),
    _Wrapped(),
    Form(b"-----begin ", late_pattern(_PRIVATE_KEY, re.IGNORECASE)),
    Form(b"private-lines:", late_pattern(_PUTTY_KEY, re.IGNORECASE)),
    Form(b"://", late_pattern(_USER_INFORMATION)),
    Form(b"hook", late_pattern(_WEBHOOK)),
    Form(b"$", late_pattern(_HASH)),
    Form(b"%", late_pattern(r"%24(?:1|5|6|7|y|2[abxy]|apr1)%24([\w.%+-]{16,}+)")),
    Form(b":5432:", late_pattern(_PGPASS_LINE)),
    Form(b"~", late_pattern(r"(?<=\dQ)~[\w~.-]{30,}+")),
    Form(
        b"identified by",
        late_pattern(r"identified by\s{1,3}(?:password\s)?\\{0,3}[\"']([^\"'\\\n]{3,}+)", re.IGNORECASE),
    ),
    _AT_HOST,
    _WINDOWS_HASH,
    Form(b"cookie", late_pattern(_COOKIES, re.IGNORECASE)),
    _Manifest(before=True),
    _Manifest(before=False),
    Form(b"bearer", late_pattern(_BEARER)),
)


_LONGEST_LOCAL_PART = 64
_LOCAL_PART = late_pattern(r"[\w.%+'-]{1,64}\Z")
_HOST = late_pattern(r"@(?:[\w-]{1,63}\.){1,8}[\w-]{2,63}")


class _AddressFinder:
    """Looks to both sides of an "@"."""

    sign = b"@"

    def look(self, text: str, position: int) -> Span | None:
        """See `Finder.look`."""
        host = _HOST.match(text, position)
        name = host and _LOCAL_PART.search(text, max(0, position - _LONGEST_LOCAL_PART), position)
        return (name.start(), host.end()) if host and name else None


ADDRESSES: tuple[Finder, ...] = (_AddressFinder(),)
"""E-mail addresses, for those who ask for them to be redacted."""
