"""What is written in sessions, taken apart."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grader_daemon.reports.blocks import (
    Block,
    Code,
    Diff,
    DiffLine,
    Heading,
    LineKind,
    Paragraph,
    Span,
    SpanKind,
    Table,
    blocks_of,
    output_blocks,
    spans,
)

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


def text(*lines: str) -> Paragraph:
    return Paragraph(lines)


@pytest.mark.parametrize(
    ("written", "blocks"),
    [
        pytest.param("", [], id="nothing"),
        pytest.param("one\ntwo\n\n\nthree", [text("one", "two"), text("three")], id="paragraphs-keep-their-lines"),
        pytest.param("# What `it` is ##\ntext", [Heading("What `it` is"), text("text")], id="heading"),
        pytest.param("#hash\n####### seven", [text("#hash", "####### seven")], id="no-heading"),
        pytest.param(
            "See:\n```python\nx = 1\n\ny\n```\nend",
            [text("See:"), Code(("x = 1", "", "y"), "python"), text("end")],
            id="fence",
        ),
        pytest.param("~~~\n```\n~~~", [Code(("```",))], id="fence-within-a-fence"),
        pytest.param("  ````sh -x\nls\n```\n````", [Code(("ls", "```"), "sh")], id="longer-fence"),
        pytest.param("```\ncut", [Code(("cut",))], id="fence-that-is-never-closed"),
        pytest.param("```js```", [text("```js```")], id="code-in-a-line-is-no-fence"),
        pytest.param(
            "```diff\n-a\n+b\n c\n```",
            [diff((REMOVED, "-a"), (ADDED, "+b"), (SAME, " c"))],
            id="fence-of-a-diff",
        ),
        pytest.param(f"```\n{HUNK}\n```", [diff(*HUNK_LINES)], id="fence-that-holds-a-diff"),
        pytest.param("```\n```", [Code(())], id="empty-fence"),
        pytest.param(
            f"So:\n{HUNK}\n- done", [text("So:"), diff(*HUNK_LINES), text("- done")], id="hunk-ends-where-its-head-says"
        ),
        pytest.param(
            "| a | b |\n|---|:-:|\n| 1 | x \\| y |\n| 2 |\nend",
            [Table(("a", "b"), (("1", "x | y"), ("2", ""))), text("end")],
            id="table",
        ),
        pytest.param("a | b\n--- | ---\n1 | 2 | 3", [Table(("a", "b"), (("1", "2 | 3"),))], id="table-loses-no-cell"),
        pytest.param("a | b\n---", [text("a | b", "---")], id="rule-of-another-width"),
        pytest.param("a | b\nno rule", [text("a | b", "no rule")], id="pipe-without-a-table"),
        pytest.param("a | b", [text("a | b")], id="pipe-in-the-last-line"),
        pytest.param("a | b\\|\n--|--", [Table(("a", "b|"), ())], id="table-without-rows"),
        pytest.param("--- title\ntext", [text("--- title", "text")], id="rule-is-no-diff"),
        pytest.param("--- end", [text("--- end")], id="rule-in-the-last-line"),
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
        pytest.param("", [], id="nothing"),
        pytest.param("plain * text", [Span(SpanKind.TEXT, "plain * text")], id="plain"),
        pytest.param(
            "a `b` and **c**",
            [
                Span(SpanKind.TEXT, "a "),
                Span(SpanKind.CODE, "b"),
                Span(SpanKind.TEXT, " and "),
                Span(SpanKind.STRONG, "c"),
            ],
            id="code-and-strong",
        ),
        pytest.param("**c**", [Span(SpanKind.STRONG, "c")], id="strong-alone"),
        pytest.param("``", [Span(SpanKind.TEXT, "``")], id="empty-code"),
        pytest.param("[a](javascript:b)", [Span(SpanKind.TEXT, "[a](javascript:b)")], id="links-stay-text"),
    ],
)
def test_parts_of_a_line(line: str, parts: list[Span]) -> None:
    assert list(spans(line)) == parts


_LINES = st.lists(
    st.sampled_from(
        (
            *("", "text", "`code` **x**", "# h", "```", "~~~", "```diff", "| a | b |", "|---|---|", "--- a", "+++ b"),
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
    shown = " ".join(_words(block) for block in blocks_of("\n".join(lines)))
    for line in lines:
        if line not in _MARKS:
            assert all(word in shown for word in line.strip("|# ").split(" | "))


@given(_LINES)
def test_no_line_of_a_tool_is_lost_or_moved(lines: list[str]) -> None:
    said = [line for block in output_blocks("\n".join(lines)) for line in _words(block).split("\n")]
    assert [line for line in said if line] == [line for line in lines if line]


def _words(block: Block) -> str:
    match block:
        case Heading(said):
            return said
        case Table(headings, rows):
            return " ".join(cell for row in (headings, *rows) for cell in row)
        case Diff(lines):
            return "\n".join(line.text for line in lines)
        case Paragraph(said_lines) | Code(said_lines):
            return "\n".join(said_lines)
