"""Blocks of a page that are written from the code; what stands around them is written by hand."""

from __future__ import annotations

import re
from collections.abc import Mapping

_BLOCK = re.compile(r"(<!-- from the code: ([\w-]+)[^\n]* -->\n).*?(<!-- end -->)", re.DOTALL)


def renewed(page: str, blocks: Mapping[str, str]) -> str:
    """Return a page with its blocks as they are now.

    Raises:
        ValueError: a block is missing in the page, or is none of ours.
    """
    named = [name for _, name, _ in _BLOCK.findall(page)]
    if sorted(named) != sorted(blocks):
        raise ValueError(f"blocks of the page are {named}, not {list(blocks)}")
    return _BLOCK.sub(lambda found: f"{found[1]}\n{blocks[found[2]].strip()}\n\n{found[3]}", page)


def cell(text: str) -> str:
    """Return text as a cell of a table."""
    return text.replace("|", "\\|").replace("\n", " ")


def table(columns: tuple[str, ...], rows: list[tuple[str, ...]]) -> str:
    """Return a table in Markdown."""
    lines = [columns, tuple("---" for _ in columns), *rows]
    return "\n".join(f"| {' | '.join(map(cell, line))} |" for line in lines)
