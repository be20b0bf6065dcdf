"""Names of error issues and their tools, as short as they can be told apart."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from typing import Final, NamedTuple

from grader_daemon.domain.error_groups import ErrorIssue

_PLACE: Final = re.compile("<(?:text|path|host|address|option|url)>")
_NAMES_SHOWN: Final = 3


def tool_words(name: str | None) -> str:
    """Return a tool without the server that it comes from, which long names repeat: "server__server_read" is "read"."""
    if name is None:
        return "an unnamed tool"
    server, _, tool = name.removeprefix("mcp__").rpartition("__")
    return tool.removeprefix(f"{server}_") or name


def shown_tools(issues: Sequence[ErrorIssue]) -> dict[str, str | None]:
    """Return the tool of each issue as a list shows it: its whole name where two of them would read the same."""
    rows = Counter((issue.signal, tool_words(issue.tool), issue.command) for issue in issues)
    return {
        issue.fingerprint: issue.tool
        if issue.tool is not None and rows[issue.signal, tool_words(issue.tool), issue.command] > 1
        else tool_words(issue.tool)
        for issue in issues
    }


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
