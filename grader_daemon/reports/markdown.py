"""A report in GitHub's Markdown.

What comes from sessions must come out as text. Names stand in code spans, in which nothing has a meaning; what a code
span cannot hold, and all sentences, are escaped. Escapes do not stop what turns addresses, mentions and references into
links *after* parsing, so the characters that begin these stand in code spans of their own.
"""

from __future__ import annotations

import re
from typing import assert_never

from grader_daemon.domain.insight import WeeklyReport
from grader_daemon.domain.text import clean
from grader_daemon.reports.document_parts import Block, Entries, Entry, Prose, Table, lay_out
from grader_daemon.reports.safe_text import Name, Words

_ENTITIES = {"&": "&amp;", "<": "&lt;", ">": "&gt;", "|": "&#124;", "`": "&#96;"}
_MEANING = re.compile(
    r"(?P<link>(?:@|://|(?<=www)\.|#(?=\d)|:(?=[a-z+-][\w+-]*:))+)|(?P<entity>[&<>|`])|[\\*_{}\[\]#~$!^]", re.IGNORECASE
)
"""Characters that Markdown, or a site that shows it, reads as more than themselves."""
_NOT_FOR_CODE = re.compile(r"[`|]")


def render_markdown(report: WeeklyReport) -> str:
    """Return a report as GitHub-flavoured Markdown."""
    whole = lay_out(report)
    blocks = [f"# {escape(whole.title)}", escape(whole.subtitle), *(f"**{_inline(words)}**" for words in whole.notes)]
    for section in whole.sections:
        blocks += [f"## {section.title}", *map(_block, section.blocks)]
    return "\n\n".join(blocks) + "\n"


def escape(text: str) -> str:
    """Return a sentence so that it renders as the text it is, inside of a line."""
    return _MEANING.sub(_escaped, clean(text))


def _escaped(found: re.Match[str]) -> str:
    match found.lastgroup:
        case "link":
            return f"`{found.group()}`"
        case "entity":
            return _ENTITIES[found.group()]
        case _:
            return f"\\{found.group()}"


def _block(block: Block) -> str:
    match block:
        case Prose(words):
            return _inline(words)
        case Table():
            return _table(block)
        case Entries(items):
            return "\n".join(map(_entry, items))
        case _:
            assert_never(block)


def _table(table: Table) -> str:
    marks = ["---:" if column.is_number else "---" for column in table.columns]
    rows = [[escape(column.title) for column in table.columns], marks]
    rows += [[_inline(cell) for cell in row.cells] for row in table.rows]
    return "\n".join([f"### {table.caption}", "", *(f"| {' | '.join(row)} |" for row in rows)])


def _entry(entry: Entry) -> str:
    return "\n".join([f"- **{_inline(entry.title)}**", *(f"  - {_inline(words)}" for words in entry.lines)])


def _inline(words: Words) -> str:
    return "".join(_name(part) if isinstance(part, Name) else escape(part) for part in words)


def _name(name: Name) -> str:
    text = clean(name.text)
    return escape(text) if _NOT_FOR_CODE.search(text) else f"`{text}`"
