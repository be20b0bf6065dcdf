"""Commands that only look: run as they stand, they cannot have changed a file."""

from __future__ import annotations

import re
from typing import Final

_LOOKING_PROGRAMS = """
    cat cd cmp cut df diff dirname du echo egrep env fgrep file find fmt fold free grep head hexdump hostname id jq less
    ls md5sum more nl od printf ps pwd pytest readlink realpath rg sed sha256sum sleep sort stat strings tail test tr
    tree true type uname uniq wc which whoami xxd [ awk
"""
_LOOKING: Final = frozenset(_LOOKING_PROGRAMS.split())
_GIT_LOOKING: Final = frozenset({"blame", "branch", "diff", "grep", "log", "ls-files", "rev-parse", "show", "status"})
_RUNS_ANOTHER: Final = frozenset({"xargs", "timeout"})
_CHANGING = re.compile(r"(?<![<=-])>|\$\(|`|<<|\bsed\b[^|;&]{0,80} -\w{0,4}i|-exec|-delete|-ok\b|\btee\b|\bsystem\(")
_SEPARATOR = re.compile(r"&&|\|\||[|;&\n]")
_REDIRECTED = re.compile(r"\d?>&\d|[&\d]?>\s*/dev/null")
_QUOTED = re.compile(r"'[^'\n]{0,400}'|\"[^\"\n]{0,400}\"")


def only_looks(command: str) -> bool:
    """Does every program in a shell command only read, with no output led into a file?"""
    plain = _QUOTED.sub("q", _REDIRECTED.sub("", command))
    return not _CHANGING.search(plain) and all(map(_part_looks, _SEPARATOR.split(plain)))


def _part_looks(part: str) -> bool:
    words = part.split()
    if not words:
        return True
    name = words[0].rpartition("/")[2] or words[0]
    if name == "git":
        return next((word in _GIT_LOOKING for word in words[1:] if word[0] != "-"), False)
    if name in _RUNS_ANOTHER:
        return any(word in _LOOKING for word in words[1:])
    return name in _LOOKING
