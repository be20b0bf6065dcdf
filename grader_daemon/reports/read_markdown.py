"""Markdown as people and agents write it, as blocks; markdown-it-py reads it, nothing of its HTML is made.

Nothing becomes a link, a picture or markup: the address of a link stands behind it in brackets. What technical text has
for other reasons stays as it is: underscores (``__init__``), entities, HTML, definitions of links. Reading takes linear
time: what is long is not searched for marks in lines, what is nested too deep stays text.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Final

from markdown_it import MarkdownIt
from markdown_it.token import Token

from grader_daemon.reports.block_kinds import Block, Heading, Line, Listing, Paragraph, Quote, Rule, Span

ReadCode = Callable[[Sequence[str], str | None], Block]
"""Reader of the text in a fence, with the language that was named."""

_DEEPEST: Final = 24
_LONGEST_MARKED: Final = 4_000
"""Characters in which marks are looked for; brackets that nobody closes take time with the square of them."""

_FEW_LINES: Final = 100
_MOST_LINES: Final = 5_000
_SHORTEST_LINES: Final = 8
"""Characters in the mean; no text of more than a few lines has shorter ones."""

_UNESCAPED: Final = frozenset("*`|[]")
"""Characters that lose the backslash before them; paths of Windows keep theirs."""

_STYLES: Final = {"strong": "is_strong", "em": "is_emphasis", "s": "is_struck"}


def markdown_blocks(text: str, read_code: ReadCode) -> tuple[Block, ...]:
    """Return the blocks of Markdown without diffs and tables; `read_code` reads what stands in fences."""
    if not _is_prose(text):
        return (plain_paragraph(text),) if text.strip() else ()
    tokens: list[Token] = []
    _READER.block.parse(text, _READER, {}, tokens)
    if any(token.level >= _DEEPEST - 1 for token in tokens):
        return (plain_paragraph(text),)
    return tuple(_blocks(iter(tokens), read_code))


def _is_prose(text: str) -> bool:
    """Return whether lines are as many and as long as people write them: a list costs 0.1 ms an item."""
    lines = text.count("\n")
    return lines <= _FEW_LINES or (lines <= _MOST_LINES and len(text) >= _SHORTEST_LINES * lines)


def plain_paragraph(text: str) -> Paragraph:
    """Return text as it is, line by line."""
    return Paragraph(tuple((Span(line),) for line in text.split("\n")))


def line_of(text: str) -> Line:
    """Return the parts of one line."""
    return _lines(text.replace("\n", " "))[0]


class _Reader(MarkdownIt):
    """Markdown parser that keeps addresses as they are written: they are shown, and never followed."""

    def normalizeLink(self, url: str) -> str:  # noqa: N802  the library calls it so
        return url

    def validateLink(self, url: str) -> bool:  # noqa: N802, ARG002
        return True


def _reader() -> MarkdownIt:
    reader = _Reader("zero", {"html": False, "maxNesting": _DEEPEST})
    reader.enable(["fence", "heading", "list", "blockquote", "hr"])
    reader.enable(["backticks", "emphasis", "strikethrough", "link", "escape"])
    return reader


_READER: Final = _reader()


def _blocks(tokens: Iterator[Token], read_code: ReadCode, end: str = "") -> Iterator[Block]:
    """Yield the blocks up to the token that ends what they stand in."""
    for token in tokens:
        if token.type == end:
            return
        block = _block(token, tokens, read_code)
        if block is not None:
            yield block


def _block(token: Token, tokens: Iterator[Token], read_code: ReadCode) -> Block | None:
    match token.type:
        case "fence":
            inside = token.content.removesuffix("\n").split("\n") if token.content else []
            return read_code(inside, next(iter(token.info.split()), None))
        case "hr":
            return Rule()
        case "heading_open":
            return Heading(line_of(next(tokens).content))
        case "inline":
            return Paragraph(_lines(token.content))
        case "blockquote_open":
            return Quote(tuple(_blocks(tokens, read_code, "blockquote_close")))
        case "bullet_list_open" | "ordered_list_open":
            ordered = token.type == "ordered_list_open"
            end = token.type.replace("open", "close")
            return Listing(tuple(_items(tokens, read_code, end)), int(token.attrGet("start") or 1) if ordered else None)
    return None


def _items(tokens: Iterator[Token], read_code: ReadCode, end: str) -> Iterator[tuple[Block, ...]]:
    while next(tokens).type != end:
        yield tuple(_blocks(tokens, read_code, "list_item_close"))


def _lines(text: str) -> tuple[Line, ...]:
    """Return lines with the parts of each; marks may reach over several."""
    if len(text) > _LONGEST_MARKED:
        return tuple((Span(line),) for line in text.split("\n"))
    lines: list[list[Span]] = [[]]
    for span in _spans(text):
        first, *others = span.text.split("\n")
        lines[-1] += [span._replace(text=first)] if first else []
        lines += [[span._replace(text=line)] if line else [] for line in others]
    return tuple(tuple(_joined(line)) for line in lines)


def _spans(text: str) -> Iterator[Span]:
    tokens: list[Token] = []
    _READER.inline.parse(text, _READER, {}, tokens)
    depths = dict.fromkeys(_STYLES.values(), 0)
    addresses: list[str] = []
    for token in tokens:
        name, _, side = token.type.rpartition("_")
        style = _STYLES.get(name)
        said = token.content
        if style is not None and "_" not in token.markup:
            depths[style] += 1 if side == "open" else -1
        elif style is not None:
            said = token.markup
        elif name == "link":
            said = _link(token, addresses)
        elif token.type == "text_special":
            said = token.content if token.content in _UNESCAPED else token.markup
        if said:
            yield Span(said, is_code=token.type == "code_inline", **{each: deep > 0 for each, deep in depths.items()})


def _link(token: Token, addresses: list[str]) -> str:
    """Return what stands for the end of a link: its address, which is not followed."""
    if token.nesting > 0:
        title = token.attrGet("title")
        addresses.append(f" ({token.attrGet('href')}{f' {title}' if title else ''})")
        return ""
    return addresses.pop()


def _joined(spans: Sequence[Span]) -> list[Span]:
    """Join the parts that are set alike."""
    joined: list[Span] = []
    for span in spans:
        if joined and joined[-1][1:] == span[1:]:
            joined[-1] = joined[-1]._replace(text=joined[-1].text + span.text)
        else:
            joined.append(span)
    return joined
