"""What is written in sessions, taken apart."""

from __future__ import annotations

import re
import time
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grader_daemon.reports.block_kinds import (
    Block,
    Code,
    Diff,
    DiffLine,
    Heading,
    Line,
    LineKind,
    Listing,
    Paragraph,
    Quote,
    Rule,
    Span,
    Table,
)
from grader_daemon.reports.blocks import blocks_of, output_blocks
from tests.tables import for_each

HUNK = "@@ -1,2 +1,2 @@\n same\n-old\n+new"
HEAD, SAME, REMOVED, ADDED = LineKind.HEAD, LineKind.SAME, LineKind.REMOVED, LineKind.ADDED
HUNK_LINES = (
    (HEAD, "@@ -1,2 +1,2 @@"),
    (SAME, " same"),
    (REMOVED, "-old"),
    (ADDED, "+new"),
)


def diff(*lines: tuple[LineKind, str]) -> Diff:
    return Diff(tuple(DiffLine(kind, line) for kind, line in lines))


def plain(line: str) -> Line:
    return (Span(line),) if line else ()


def text(*lines: str) -> Paragraph:
    return Paragraph(tuple(map(plain, lines)))


def items(*each: Block, start: int | None = None) -> Listing:
    return Listing(tuple((one,) for one in each), start)


def table(headings: Sequence[str], *rows: Sequence[str]) -> Table:
    return Table(tuple(map(plain, headings)), tuple(tuple(map(plain, row)) for row in rows))


@for_each(
    ("written", "blocks"),
    [
        pytest.param("", [], id="nothing"),
        pytest.param("one\ntwo\n\n\nthree", [text("one", "two"), text("three")], id="paragraphs-keep-their-lines"),
        pytest.param(
            "# What `it` is ##\ntext",
            [Heading((Span("What "), Span("it", is_code=True), Span(" is"))), text("text")],
            id="heading",
        ),
        pytest.param("#hash\n####### seven", [text("#hash", "####### seven")], id="no-heading"),
        pytest.param(
            "See:\n```python\nx = 1\n\ny\n```\nend",
            [text("See:"), Code(("x = 1", "", "y"), "python"), text("end")],
            id="fence",
        ),
        pytest.param("~~~\n```\n~~~", [Code(("```",))], id="fence-within-a-fence"),
        pytest.param("  ````sh -x\nls\n```\n````", [Code(("ls", "```"), "sh")], id="longer-fence"),
        pytest.param("```\ncut", [Code(("cut",))], id="fence-that-is-never-closed"),
        pytest.param("```js```", [Paragraph(((Span("js", is_code=True),),))], id="code-in-a-line-is-no-fence"),
        pytest.param(
            "```diff\n-a\n+b\n c\n```",
            [diff((REMOVED, "-a"), (ADDED, "+b"), (SAME, " c"))],
            id="fence-of-a-diff",
        ),
        pytest.param(f"```\n{HUNK}\n```", [diff(*HUNK_LINES)], id="fence-that-holds-a-diff"),
        pytest.param("```\n```", [Code(())], id="empty-fence"),
        pytest.param(
            f"So:\n{HUNK}\n- done",
            [text("So:"), diff(*HUNK_LINES), items(text("done"))],
            id="hunk-ends-where-its-head-says",
        ),
        pytest.param(
            "| a | b |\n|---|:-:|\n| 1 | x \\| y |\n| 2 |\nend",
            [table(("a", "b"), ("1", "x | y"), ("2", "")), text("end")],
            id="table",
        ),
        pytest.param("a | b\n--- | ---\n1 | 2 | 3", [table(("a", "b"), ("1", "2 | 3"))], id="table-loses-no-cell"),
        pytest.param("a | b\n---", [text("a | b"), Rule()], id="rule-of-another-width"),
        pytest.param("a | b\nno rule", [text("a | b", "no rule")], id="pipe-without-a-table"),
        pytest.param("a | b", [text("a | b")], id="pipe-in-the-last-line"),
        pytest.param("a | b\\|\n--|--", [table(("a", "b|"))], id="table-without-rows"),
        pytest.param("--- title\ntext", [text("--- title", "text")], id="rule-is-no-diff"),
        pytest.param("--- end", [text("--- end")], id="rule-in-the-last-line"),
        pytest.param(
            "- a\n- b\n\n3. c\n4. d", [items(text("a"), text("b")), items(text("c"), text("d"), start=3)], id="lists"
        ),
        pytest.param("* a\n  1. b", [Listing(((text("a"), items(text("b"), start=1)),))], id="list-in-a-list"),
        pytest.param("- a\n  ```sh\n  ls\n  ```", [Listing(((text("a"), Code(("ls",), "sh")),))], id="code-in-a-list"),
        pytest.param("> a\n> b\n\nc", [Quote((text("a", "b"),)), text("c")], id="quote"),
        pytest.param("a\n***\nb", [text("a"), Rule(), text("b")], id="line-across"),
        pytest.param("a\n    b\n  c", [text("a", "    b", "  c")], id="lines-keep-where-they-begin"),
        pytest.param("> " * 40 + "deep", [text("> " * 40 + "deep")], id="nested-too-deep-stays-text"),
        pytest.param(f"**a** {'x' * 4_000}", [text(f"**a** {'x' * 4_000}")], id="too-long-for-marks"),
        pytest.param(
            "[a]: http://b.c\n<b>&amp;</b>", [text("[a]: http://b.c", "<b>&amp;</b>")], id="what-is-no-text-of-ours"
        ),
        pytest.param(
            "**a\nb**", [Paragraph(((Span("a", is_strong=True),), (Span("b", is_strong=True),)))], id="over-lines"
        ),
        pytest.param("- a\n" * 120 + "- a", [text(*["- a"] * 121)], id="no-prose"),
        pytest.param("\n" * 120, [], id="nothing-but-lines"),
        pytest.param("a\r\nb", [text("a", "b")], id="lines-of-windows"),
    ],
)
def test_writing_is_taken_apart(written: str, blocks: list[Block]) -> None:
    assert list(blocks_of(written)) == blocks


@pytest.mark.parametrize(
    ("written", "blocks"),
    [
        pytest.param("", [], id="nothing"),
        pytest.param("# no heading\n\n| a |\n|---|", [Code(("# no heading", "", "| a |", "|---|"))], id="no-markdown"),
        pytest.param(
            f"output: \n{HUNK}\nexit_code: 0",
            [Code(("output: ",)), diff(*HUNK_LINES), Code(("exit_code: 0",))],
            id="diff-between-lines",
        ),
        pytest.param(
            "diff --git a/x b/x\nindex 1..2\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n\\ No newline at end of file\nrest",
            [
                diff(
                    *((HEAD, line) for line in ("diff --git a/x b/x", "index 1..2", "--- a/x", "+++ b/x")),
                    (HEAD, "@@ -1 +1 @@"),
                    (REMOVED, "-a"),
                    (ADDED, "+b"),
                    (SAME, "\\ No newline at end of file"),
                ),
                Code(("rest",)),
            ],
            id="whole-diff",
        ),
        pytest.param(
            "--- a\n+++ b\nrest",
            [diff((HEAD, "--- a"), (HEAD, "+++ b")), Code(("rest",))],
            id="diff-without-a-hunk",
        ),
        pytest.param(
            "@@ -1,9 +1,9 @@\n\n x\n[cut]",
            [diff((HEAD, "@@ -1,9 +1,9 @@"), (SAME, ""), (SAME, " x")), Code(("[cut]",))],
            id="hunk-that-was-cut",
        ),
        pytest.param("@@ -1 +1 @@\n-a", [diff((HEAD, "@@ -1 +1 @@"), (REMOVED, "-a"))], id="hunk-up-to-the-end"),
        pytest.param(
            "*** Begin Patch\n@@\n-a\n+b\n*** End Patch\nok",
            [
                diff(
                    (HEAD, "*** Begin Patch"),
                    (HEAD, "@@"),
                    (REMOVED, "-a"),
                    (ADDED, "+b"),
                    (HEAD, "*** End Patch"),
                ),
                Code(("ok",)),
            ],
            id="patch",
        ),
        pytest.param(
            "*** Begin Patch\n+b",
            [diff((HEAD, "*** Begin Patch"), (ADDED, "+b"))],
            id="patch-that-was-cut",
        ),
    ],
)
def test_what_tools_say_is_kept_but_for_diffs(written: str, blocks: list[Block]) -> None:
    assert list(output_blocks(written)) == blocks


@pytest.mark.parametrize(
    ("line", "parts"),
    [
        pytest.param("plain * text", [Span("plain * text")], id="plain"),
        pytest.param("a `b`", [Span("a "), Span("b", is_code=True)], id="code"),
        pytest.param("**c**", [Span("c", is_strong=True)], id="strong"),
        pytest.param(
            "**New: `x`**",
            [Span("New: ", is_strong=True), Span("x", is_code=True, is_strong=True)],
            id="code-in-strong",
        ),
        pytest.param("*i*", [Span("i", is_emphasis=True)], id="emphasis"),
        pytest.param("***b***", [Span("b", is_strong=True, is_emphasis=True)], id="both"),
        pytest.param("~~s~~", [Span("s", is_struck=True)], id="struck"),
        pytest.param("__init__ and _x_", [Span("__init__ and _x_")], id="underscores-are-names"),
        pytest.param("``", [Span("``")], id="empty-code"),
        pytest.param("[a](http://b.c/d)", [Span("a (http://b.c/d)")], id="link-as-text"),
        pytest.param('[a](b "c")', [Span("a (b c)")], id="link-with-a-title"),
        pytest.param("[a](javascript:b)", [Span("a (javascript:b)")], id="no-address-is-followed"),
        pytest.param("![a](b.png)", [Span("!a (b.png)")], id="picture-as-text"),
        pytest.param("2 \\* 3 in C:\\_x", [Span("2 * 3 in C:\\_x")], id="backslashes"),
    ],
)
def test_parts_of_a_line(line: str, parts: list[Span]) -> None:
    assert blocks_of(line) == (Paragraph((tuple(parts),)),)


@pytest.mark.parametrize(
    "mark", ["![a", "[", "*a ", "**a *b ", "`a ", "> ", "- ", "~", "[a](", "[a](<b", "|a", "_a__b"]
)
def test_no_text_takes_more_than_linear_time(mark: str) -> None:
    written = mark * (200_000 // len(mark))
    begun = time.process_time()
    blocks_of(written)
    assert time.process_time() - begun < 5  # what grows with the square takes minutes


_LINES = st.lists(
    st.sampled_from(
        (
            *(
                "",
                "text",
                "`code` **x**",
                "- a *b*",
                "> q",
                "1. [x](y)",
                "__n__",
                "# h",
                "```",
                "~~~",
                "```diff",
                "| a | b |",
                "|---|---|",
                "--- a",
                "+++ b",
            ),
            *(
                "@@ -1,3 +1,2 @@",
                "+x",
                "-y",
                " z",
                "\\ No newline",
                "*** Begin Patch",
                "*** End Patch",
                "diff --git a b",
            ),
        )
    ),
    max_size=12,
)
_MARKS = {"```", "~~~", "```diff", "|---|---|"}


@given(_LINES)
def test_nothing_that_is_written_is_lost(lines: list[str]) -> None:
    shown = "".join(" ".join(_words(block) for block in blocks_of("\n".join(lines))).split())
    for line in lines:
        if line not in _MARKS:
            assert all(word in shown for word in re.findall(r"[\w+-]*\w", line.lstrip("1. ")))


@given(_LINES)
def test_no_line_of_a_tool_is_lost_or_moved(lines: list[str]) -> None:
    said = [line for block in output_blocks("\n".join(lines)) for line in _words(block).split("\n")]
    assert [line for line in said if line] == [line for line in lines if line]


def _words(block: Block) -> str:
    match block:
        case Heading(line):
            return _text(line)
        case Table(headings, rows):
            return " ".join(_text(cell) for row in (headings, *rows) for cell in row)
        case Diff(lines):
            return "\n".join(line.text for line in lines)
        case Paragraph(lines):
            return "\n".join(map(_text, lines))
        case Code(lines):
            return "\n".join(lines)
        case _:
            return " ".join(map(_words, _inside(block)))


def _inside(block: Quote | Listing | Rule) -> list[Block]:
    match block:
        case Quote(blocks):
            return list(blocks)
        case Listing(items):
            return [each for item in items for each in item]
        case Rule():
            return []


def _text(line: Line) -> str:
    return "".join(span.text for span in line)
