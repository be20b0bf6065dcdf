r"""Error messages with the parts that differ between occurrences replaced by placeholders.

What is quoted counts as variable, because programs quote names; words that are one of a few (classes of exceptions,
HTTP statuses, exit codes, ``net::ERR_…``) stay. Each pattern has bounded or possessive repetition, so that any line
takes linear time.
"""

from __future__ import annotations

import re
from functools import lru_cache

from grader_daemon.domain.late_pattern import late_pattern

SIGNALS = "Segmentation fault|Killed|Aborted|Bus error|Illegal instruction|Floating point exception|Terminated"
EXCEPTIONS = "Error|Exception|Failure|Fault|Interrupt|Timeout|NotFound|Exit"
ERRNO = (
    r"No such file or directory|Permission denied|Is a directory|Not a directory|File exists|Directory not empty"
    r"|Operation not permitted|Read-only file system|No space left on device|Text file busy|Exec format error"
    r"|cannot execute(?:: required file not found| binary file)?|Input/output error|Device or resource busy"
    r"|Too many open files|File name too long|Cannot allocate memory|Disk quota exceeded|bad interpreter"
)
ERRNO_SIGNS = tuple(re.sub(r"\(\?:[^()]*\)\?", "", ERRNO).lower().split("|"))
"""Beginnings of these, in lower case."""

_DOMAINS = (
    "com|org|net|io|dev|ai|app|co|edu|gov|de|uk|eu|local|localdomain|internal|lan|example|invalid|test|cloud|svc|corp"
)
_EXTENSIONS = (
    "py|js|mjs|cjs|jsx|ts|tsx|vue|json|jsonl|ya?ml|toml|ini|cfg|conf|env|lock|md|rst|txt|log|csv|tsv|xml|html?|s?css|svg|png"
    "|jpe?g|gif|webp|pdf|docx?|xlsx?|zip|t?gz|xz|bz2|tar|whl|jar|class|java|kts?|gradle|c|cc|cpp|h|hpp|cs|go|rs|rb|php|pl|lua"
    "|swift|sql|db|sqlite3?|sh|bash|ps1|bat|exe|dll|so|o|a|bin|dat|img|iso|deb|rpm|pem|key|crt|tf|proto|ipynb|parquet|mp[34]"
    "|wav|bak|tmp"
)
_NO_PATH = r"(?:and/or|[Ii](?:nput)?/[Oo](?:utput)?|N/A|TCP/IP|SSL/TLS|TLS/SSL|HTTPS?/\d|read/write|client/server)\b"

_QUOTED = late_pattern(
    r"(?<!\w)(?:b|u|r|f)?'(?!NoneType')(?:[^'\n]|(?<=\w)'(?=\w)){0,200}?'(?!\w)|\"(?!NoneType\")(?:[^\"\\]|\\.){0,600}+\""
    r"|`[^`\n]{0,200}?[`'](?!['\w])|‘[^’]{0,200}+’|“[^”]{0,200}+”|«[^»]{0,200}+»"
)
_URL = late_pattern(
    r"\b[a-zA-Z][a-zA-Z\d+.-]{1,20}://(?:[^\s/@]{1,80}@)?(?:\[[\da-fA-F:.]{2,45}\])?[^\s<>\"'`)\]},;]*[^\s<>\"'`)\]},;.:!?]"
)
_ADDRESS = late_pattern(r"(?<![\w.+-])[\w.+-]{1,64}+@[\w-]{1,63}+(?:\.[\w-]{1,63}+){0,20}(?::[\w./~-]*[\w/])?")
_PATH = late_pattern(
    rf"(?<![\w.@%+~$/\\<-])(?!{_NO_PATH}|\d[\d.,]*(?:/\d[\d.,]*)+(?![\w/-]))(?:"
    r"[A-Za-z]:[\\/][^\s'\"<>|,;]*[^\s'\"<>|,;.:)]|\\\\[\w.$-]+[\\\w.$-]*|[\w.@%+~$-]*+\\[\w.@%+~$\\-]++"
    r"|[\w.@%+~$-]*+/(?:[\w.@%+~$/=&#*?-]|:(?=\d)|::(?=\w)|\[[\w-]+\])*(?<![.:?]))"
)
_FILE = late_pattern(
    rf"(?<![\w.<+-])(?:[\w+-]++(?:\.[\w+-]++){{0,6}}?\.(?:(?:{_EXTENSIONS})(?::\d{{1,6}}){{0,2}}(?![\w(-]|\.\w)|[a-z]{{2,5}}$)"
    r"|(?:[A-Z][a-z]+file|README|LICENSE)\b)"
)
_HOST = late_pattern(
    rf"(?<![\w.@:<-])(?:(?:(?:[\w-]++\.){{1,8}}(?:{_DOMAINS})|localhost)(?::\d{{1,5}})?(?![\w.(-])"
    r"|(?:\d{1,3}(?:\.\d{1,3}){3}|\[[\da-fA-F:.]{2,45}\]|(?:[\da-fA-F]{0,4}:){2,7}[\da-fA-F]{1,4})(?::\d{1,5})?(?![\w.:])"
    r"|(?!(?:line|code|status|col|column|exit|error|errno|count|size|offset|char|at)\b)"
    r"[a-z][\w-]{1,40}:\d{2,5}\b(?![:.\w]))"
)
_OPTION = late_pattern(r"(?<![\w<-])--?[A-Za-z][\w-]*+(?:=\S+)?")
_CALLED = late_pattern(r"\b[A-Za-z_][\w.]{0,200}+(?:<locals>[\w.]{1,60})?\(\)")
_REASONS = (
    "Bad Request|Unauthorized|Forbidden|Not Found|Method Not Allowed|Conflict|Gone|Too Many Requests"
    "|Internal Server Error|Bad Gateway|Service Unavailable|Gateway Time-?out"
)
_NUMERIC = late_pattern(
    r"(?<![\w<])(?:(?P<kept>\[(?:Errno|WinError) -?\d{1,6}\]"
    r"|(?:exit(?:ed)?|status|code|HTTP(?:/\d(?:\.\d)?)?|errno|signal|SQLSTATE|returned)"
    r"[ :=]{0,2}(?:status |code |with )?[ :=\[(]{0,2}-?[A-Z\d]{1,5}\b(?!\.\d)(?: \(\d{5}\))?"
    r"|[Ee]rror:? [45]\d\d\b(?! [a-z])|(?:ERROR|Error) \d{1,5}\b(?: \(\w{5}\))?|curl: \(\d{1,3}\)"
    rf"|[45]\d\d (?={_REASONS}|Client Error|Server Error)"
    r"|[A-Z]{1,4}\d{3,5}\b|(?:ORA|SQL)-\d{4,5}\b|utf-?(?:8|16|32)\b)"
    r"|[\w-]{0,100}?\d[\w-]*+(?:[.,:+]\d[\w-]*+)*+)"
)
"""Words with digits in them; `kept` are those that are one of a few and tell causes apart."""

_TIME = re.compile(
    r"\d{4}-\d\d-\d\d.*|\d{1,2}:\d\d(?::\d\d.*)?"
    r"|-?\d[\d.,]*(?:ns|us|ms|s|m|h|d|sec|secs|min|mins|hrs?)(?:\d[\d.]*(?:ms|s|m))*"
)
_SIZE = re.compile(r"\d[\d.,]*[kKMGTP]i?[Bb]?|\d[\d.,]*B")
_PLAIN = re.compile(r"-?v?\d[\d.,:+-]*+(?:-?(?:alpha|beta|rc|dev|post|pre)[.\d]*+)*")
_OPAQUE = re.compile(
    r"0x[\da-fA-F]+|(?=.*\d)[\da-fA-F]{7,}|(?=.*\d)(?=.*[a-f])[\da-f]{6}|[\da-fA-F]{8}-[\da-fA-F-]{8,27}"
    r"|(?=.*\d[A-Za-z]++\d|.*[A-Za-z]\d++[A-Za-z]).*"
)
_KINDS = (
    (_TIME.fullmatch, "<time>"),
    (_SIZE.fullmatch, "<size>"),
    (_PLAIN.fullmatch, "<number>"),
    (_OPAQUE.fullmatch, "<id>"),
)
_DIGIT_RUN = late_pattern(r"\d+(?:[.,:]\d+)*")
_UNIT_OF_TIME = late_pattern(
    r"<number>(?: |-)(?:(?:milli|micro|nano)?seconds?|secs?|ms|minutes?|mins?|hours?|hrs?|days?|weeks?)\b"
)
_UNIT_OF_SIZE = late_pattern(r"<number> (?:bytes?|(?:kilo|mega|giga)bytes?|[kKMGT]i?B)\b")
_COUNTED = late_pattern(r"(?<=<number> )(?:\w{2,30}(?:\(s\))? ){0,2}\w{2,30}(?:\(s\))?(?![\w<])")
_PLURAL = late_pattern(r"\(s\)|(?<=ch|sh|ss)es\b|(?<=x)es\b|(?<=[^\Wsui])s\b")
_BE = late_pattern(r"\b(?:was|were|are|have|has)\b")
_ANY = "<(?:path|number|id|time|host|url|text|size|option|address)>"
_PLACEHOLDER = late_pattern(rf"(?<![\w#-])(?:[\w#-]*+{_ANY})+[\w-]*+")
"""A placeholder with the rest of its word. Digests do not tell kinds apart: of two names, one may look like a path."""
_REPEATED = late_pattern(rf"({_ANY}|<>)(?:(?:,? |, ?|,? and |,? or |\||/)\1)+")
_PLACE = late_pattern(r"(?: (?:\(<url>\)|(?:for|at|from)(?: url:?)? <url>)){1,20}+$")
_LISTED = late_pattern(r"[\[{](?:[\[\](){}, :]|<\w{2,7}>|None\b|True\b|False\b|nan\b){1,400}")

# What stands unquoted in the messages of well-known programs: a word that must occur, the pattern, its replacement.
_TEMPLATES: tuple[tuple[str, re.Pattern[str], str], ...] = tuple(
    (needle, late_pattern(pattern), replacement)
    for needle, pattern, replacement in (
        ("sh: ", r"(?<!\S)(?:\S{0,100}/)?(?:ba|z|da|k|a)?sh: (?:-c: )?(?:line )?(?:\d{1,6}: )?", ""),
        ("id you mean", r"[.,;]? {0,9}\(?\b[Dd]id you mean.*$", ""),
        (": line ", r"^\S+: line \d{1,6}: ", ""),
        (": not found", r"^\S+: \d{1,6}: (?=\S+: not found$)", ""),
        ("ommand not found", r"^.*?[Cc]ommand not found(?:: .*)?$", "command not found: <text>"),
        (": not found", r"^[\w./+-]+: not found$", "command not found: <text>"),
        ("not recognized", r"^(?:The term )?['\"]?.{1,200}? is not recognized as .*$", "command not found: <text>"),
        ("ermission denied (", r"^.*(Permission denied) \(.*", r"<host>: \1 (publickey)"),
        ("o module named", r"No module named .*", "No module named <text>"),
        ("annot import name", r" \((?:unknown location|[^()/\\]*+[/\\][^()]*+)\)$", ""),
        ("python", r"^\S*python[\d.]*(?:\.exe)?: ", "python: "),
        (".", rf"(?<!\S)(?:[a-z_$][\w$]{{0,60}}+\.){{1,8}}(?=[A-Z]\w{{0,60}}?(?:{EXCEPTIONS})\b)", ""),
        ("KeyError: ", r"KeyError: .*", "KeyError: <text>"),
        ("assert", r"^(?:AssertionError: )?assert .*", "AssertionError: assert <text>"),
        (
            "AssertionError: ",
            r"AssertionError: .* (?:!=|==|not found in|is not|not in) .*",
            "AssertionError: <text> != <text>",
        ),
        ("ReferenceError: ", r"(ReferenceError: )\S+( is not defined)", r"\1<text>\2"),
        ("TypeError: ", r"(TypeError: ).{1,200}? (is not (?:a function|a constructor|iterable))", r"\1<text> \2"),
        ("PointerException: ", r"(NullPointerException): .*", r"\1"),
        (" error ", r"^\d{1,6}:\d{1,6} error .* (?:@[\w-]+/)?([\w/-]+)$", r"error: \1"),
        (
            "error",
            r"^[^\s:(]+(?:\(\d{1,6}(?:,\d{1,6})?\)|(?::\d{1,6}){1,2}):?(?: -)? ((?:fatal )?error\b)",
            r"<path>: \1",
        ),
        ("moved value", r"\b\w+ of (?:partially )?moved value", "use of moved value"),
        ("panicked at", r"^thread .* panicked at (?:'(.*)', \S+$|\S+: (.*))", r"panicked: \1\2"),
        (":in ", r"^\S+:\d{1,6}:in [`'].*?': ", "<path>: "),
        ("nil:NilClass", "nil:NilClass", "nil"),
        ("using password", r" \(using password.*", ""),
        (" code", rf"(\bcode:? [45]\d\d)(?::| -)? (?:{_REASONS})$", r"\1"),
        ("--- FAIL", r"(--- FAIL: ).*", r"\1<text>"),
        ("FAILED ", r"^FAILED \S+.*", "FAILED <path>"),
        ("make[", r"make\[\d{1,3}\]", "make"),
        ("npm ERR! ", "npm ERR! ", "npm error "),
        ("[rejected]", r"(?<!\S)\S+ -> \S+(?: \((?:fetch first|non-fast-forward)\))?", "<text> -> <text>"),
        ("not a git rep", r"(not a git repository).*", r"\1"),
        ("CONFLICT", r"CONFLICT \([^)]*\): (Merge conflict in) .*", r"CONFLICT: \1 <path>"),
        ("ould not find a version", r"(satisfies the requirement ).*", r"\1<text>"),
        ("o matching distribution", r"(distribution found for ).*", r"\1<text>"),
        ("nable to locate package", r"(locate package ).*", r"\1<text>"),
        ("ould not get lock", r"^.*ould not get lock .*", "Could not get lock <path>"),
        ("curl: (6", r"^.*?(curl: \(6\) Could not resolve host: ).*", r"\1<host>"),
        ("curl: (7", r"^.*?(curl: \(7\)).*", r"\1 Failed to connect to <host>"),
        ("curl: (22", r"^.*?(curl: \(22\) .*error: \d{3}).*", r"\1"),
        ("curl: (", r"^.*?(curl: \(\d{1,3}\))", r"\1"),
        ("access denied for", r"(pull access denied for) [^\s,]+", r"\1 <text>"),
        ("on endpoint", r"(on endpoint) \S+ \([^)]*\)", r"\1 <text>"),
        ("Error from server", r"(\((?:NotFound|Forbidden|AlreadyExists)\)): .*", r"\1"),
        ("ddress already", r"(\[Errno -?\d{1,4}\] ).*ddress already in use.*", r"\1Address already in use"),
        ("nnection to server at", r"(onnection to server) at .{0,300}?, port \d{1,5} failed", r"\1 failed"),
        ("psql:", r"^psql:\S+:\d{1,6}: ", ""),
        (
            "o such ",
            r"^(?:Parse error|Error)(?: near line \d{1,6})?: (?:in prepare, |near line \d{1,6}: )?(no such \w+): .*",
            r"\1: <text>",
        ),
        ("peration timed out", "Operation timed out", "Connection timed out"),
        ("ost", r"(\b[Hh]ost(?:name)?:? )(?!key|name|is\b|not\b|or\b)[\w.:-]+", r"\1<host>"),
        ("API key provided", r"(API key provided: )\S+\.(?= |$)", r"\1<text>."),
        ("ailable", r"[.,;]? {0,9}\(?\b[Aa]vailable \w{2,20}s(?: are| include)?: .*$", ""),
        ("hoose from", r" {0,9}\(choose from .*$", ""),
        ("nknown column", r"(Unknown column ).*", r"\1<text>"),
        ("ndefined: ", r"\b(undefined: )\S+", r"\1<text>"),
        ("undefined reference", r"^.*(undefined reference to ).*", r"\1<text>"),
        (" ID", r"\bID:? (?!is\b|not\b|of\b|must\b)[^\s.,;]+", "ID <id>"),
        ("", rf"^(?:\d{{1,9}} )?({SIGNALS})(?: ?\(core dumped\))?(?: .*)?$", r"\1"),
    )
)
_ARGUMENT = late_pattern(
    rf"(?:^|(?<=: ))((?:cannot|can't|could not|unable to|failed to) (?:\w+ )(?:(?:directory|file|regular file) )?)?"
    rf"(?!\[Errno)(?:[A-Za-z]:)?[^:]{{1,400}}: ({ERRNO})(?! \()",
    re.IGNORECASE,
)
_NAMED = late_pattern(
    r"\b((?:(?:file|path|directory|folder|module|package|host|user|tool|command|option|argument|key|table|column|function|method|"
    r"variable|symbol|type|class|container|image|service|process|task|session|resource|branch|field|name|target)s? )?"
    r"(?:not found|does not exist|already exists|not installed|not defined)"
    r"|no such (?:\w+ ){0,2}?\w+|(?:unknown|unrecognized|undefined|unsupported|invalid|missing|unexpected) (?:\w+ )?\w+"
    r"|cannot find (?:\w+ ){0,2}?\w+): (?!<)[^\s,]+(?:, ?[^\s,]+)*$",
    re.IGNORECASE,
)

_ERRNO_SIGN = late_pattern(f": (?:{ERRNO.lower()})")
_NAMED_SIGN = late_pattern(r": \S+(?:, \S+)*$")
_NAMES = tuple(
    (late_pattern(occasion), pattern, placeholder)
    for occasion, pattern, placeholder in (
        ("['\"`‘“«]", _QUOTED, "<text>"),
        ("://", _URL, "<url>"),
        ("@", _ADDRESS, "<address>"),
        (r"[/\\]", _PATH, "<path>"),
        (r"\w\.\w|:[\d:]|localhost", _HOST, "<host>"),
        (r"\w\.\w|file|README|LICENSE", _FILE, "<path>"),
        (r"(?:^|\s)-", _OPTION, "<option>"),
        (r"\(\)", _CALLED, "<text>()"),
    )
)
_HAS_DIGIT = late_pattern(r"\d")


@lru_cache(maxsize=512)
def normalize(line: str) -> str:
    """Replace by placeholders what differs between occurrences of one error message; many come word for word."""
    for needle, pattern, replacement in _TEMPLATES:
        if needle in line:
            line = pattern.sub(replacement, line)
    if ": " in line:
        line = _without_arguments(line)
    for occasion, pattern, placeholder in _NAMES:
        if occasion.search(line):
            line = pattern.sub(placeholder, line)
    if _HAS_DIGIT.search(line):
        line = _without_numbers(line)
    if "[" in line or "{" in line:
        line = _LISTED.sub(_list_of_any, line)
    line = _REPEATED.sub(r"\1", line)
    return (_PLACE.sub("", line) if line.endswith(("<url>", "<url>)")) else line).strip(" .:;,")


@lru_cache(maxsize=512)
def shape_of(normal: str) -> str:
    """Return what two normal lines of one cause have in common though other kinds of things stand in them."""
    return _REPEATED.sub(r"\1", _PLACEHOLDER.sub("<>", normal.lower()))


def _without_arguments(line: str) -> str:
    lowered = line.lower()
    if _ERRNO_SIGN.search(lowered):
        line = _ARGUMENT.sub(r"\1<path>: \2", line)
    if _NAMED_SIGN.search(lowered):
        line = _NAMED.sub(r"\1: <text>", line)
    return line


def _without_numbers(line: str) -> str:
    line = _NUMERIC.sub(_placeholder, line)
    if "<number>" in line:
        line = _UNIT_OF_TIME.sub("<time>", line)
        line = _UNIT_OF_SIZE.sub("<size>", line)
        line = _COUNTED.sub(_singular, line)
    return line


def _placeholder(match: re.Match[str]) -> str:
    token = match.group()
    if match["kept"]:
        return token
    for is_kind, placeholder in _KINDS:
        if is_kind(token):
            return placeholder
    return _DIGIT_RUN.sub("<number>", token)


def _list_of_any(match: re.Match[str]) -> str:
    """Return the placeholder of a list, and what was read after its end; without an end it is no list."""
    found = match.group()
    end = max(map(found.rfind, "])}")) + 1
    return f"[<text>]{found[end:]}" if end else found


def _singular(match: re.Match[str]) -> str:
    words = _BE.sub("is", match.group()).replace("ies ", "y ")
    return _PLURAL.sub("", f"{words[:-3]}y" if words.endswith("ies") else words)
