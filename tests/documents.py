"""The documents as tests read them: pages with their headings, links, code spans and blocks."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from pathlib import Path

from markdown_it import MarkdownIt
from markdown_it.token import Token

ROOT = Path(__file__).parent.parent
_READER = MarkdownIt("commonmark").enable("table")


@dataclass(frozen=True)
class Page:
    """One Markdown file."""

    path: Path

    @property
    def name(self) -> str:
        """Where it stands in the repository, as in ``docs/install.md``."""
        return str(self.path.relative_to(ROOT))

    @cached_property
    def text(self) -> str:
        """All of it."""
        return self.path.read_text("utf-8")

    @cached_property
    def by_hand(self) -> str:
        """Its text without the blocks that are written from the code."""
        return re.sub(r"<!-- from the code: .*?<!-- end -->", "", self.text, flags=re.DOTALL)

    @cached_property
    def links(self) -> list[str]:
        """What links and pictures lead to, but for other sites."""
        led = (token.attrGet("href") or token.attrGet("src") for token in self._inline())
        return [str(link) for link in led if link and not str(link).startswith(("http:", "https:", "mailto:"))]

    @cached_property
    def anchors(self) -> set[str]:
        """The names by which a link reaches a heading."""
        taken: Counter[str] = Counter()
        names = set()
        for heading in self.headings:
            slug = re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")
            names.add(f"{slug}-{taken[slug]}" if taken[slug] else slug)
            taken[slug] += 1
        return names

    @cached_property
    def headings(self) -> list[str]:
        """The texts of the headings, in their order."""
        tokens = self._tokens
        return [
            "".join(child.content for child in inline.children or ())
            for token, inline in pairwise(tokens)
            if token.type == "heading_open"
        ]

    @cached_property
    def spans(self) -> list[str]:
        """What is set as code within a sentence or a cell."""
        return [token.content for token in self._inline() if token.type == "code_inline"]

    @cached_property
    def prose(self) -> str:
        """Paragraphs, headings and cells, without what is set as code."""
        return "\n\n".join("".join(_words(token.children)) for token in self._tokens if token.children)

    @cached_property
    def explained(self) -> list[str]:
        """What stands first in the rows of tables, where that is set as code."""
        rows = zip(self._tokens, self._tokens[2:], strict=False)
        cells = (cell.children for row, cell in rows if row.type == "tr_open" and cell.children)
        return [
            child.content
            for cell in cells
            if cell[0].type == "code_inline"
            for child in cell
            if child.type == "code_inline"
        ]

    def blocks(self, language: str) -> list[str]:
        """The blocks that are said to be in a language."""
        return [token.content for token in self._tokens if token.type == "fence" and token.info == language]

    @cached_property
    def _tokens(self) -> list[Token]:
        return _READER.parse(self.text)

    def _inline(self) -> Iterator[Token]:
        for token in self._tokens:
            yield from token.children or ()


PAGES = [
    Page(path)
    for path in (*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").rglob("*.md")))
    if path.name != "CHANGELOG.md"
]
"""All documents but the changelog, which tells of what was."""


def _words(children: list[Token]) -> Iterator[str]:
    for child in children:
        if child.type != "code_inline":
            yield "\n" if child.type == "softbreak" else child.content


def page(name: str) -> Page:
    """The page that stands there."""
    return next(one for one in PAGES if one.name == name)
