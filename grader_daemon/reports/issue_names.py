"""Names of error issues, with the words that their failures name most in place of the first that differs."""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from grader_daemon.domain.error_groups import ErrorIssue

_PLACE: Final = re.compile("<(?:text|path|host|address|option|url)>")
_NAMES_SHOWN: Final = 3


class IssueName(NamedTuple):
    """The line of an issue: what stands before its names, the names, and what stands behind."""

    before: str
    names: str
    behind: str


def issue_name(issue: ErrorIssue) -> IssueName:
    """Return the line of an issue with what its failures name most: "numpy, yaml, +12"."""
    line = issue.signal or (issue.subcategory or issue.category).replace("_", " ")
    place = _PLACE.search(line)
    if not issue.named or place is None:
        return IssueName(line, "", "")
    more = len(issue.named) - _NAMES_SHOWN
    names = ", ".join([*list(issue.named)[:_NAMES_SHOWN], *([f"+{more:,}"] if more > 0 else [])])
    return IssueName(line[: place.start()], names, line[place.end() :])
