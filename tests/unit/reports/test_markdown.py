from __future__ import annotations

import pytest
from hypothesis import given
from markdown_it import MarkdownIt
from markdown_it.token import Token

from grader_daemon.domain.insight import WeeklyReport
from grader_daemon.reports.markdown import escape, render_markdown
from grader_daemon.reports.safe_text import remark
from tests.reports_examples import ATTACK, empty_report, example_report, hostile_report
from tests.reports_figures import words_of_figures
from tests.strategies import texts

_PARSER = MarkdownIt("commonmark").enable(["table", "strikethrough"])
_BLOCKS = {"heading", "paragraph", "bullet_list", "list_item", "table", "thead", "tbody", "tr", "th", "td", "inline"}
_SPANS = {"text", "code_inline", "strong_open", "strong_close"}


def spans_of(markdown: str) -> list[Token]:
    """Everything inside of lines."""
    return [span for token in _PARSER.parse(markdown) for span in token.children or ()]


def text_of(markdown: str) -> str:
    """What a reader sees."""
    lines = ("".join(span.content for span in token.children or ()) for token in _PARSER.parse(markdown))
    return "\n".join(lines)


@pytest.mark.parametrize(
    "report",
    [
        pytest.param(example_report(complete=False), id="full"),
        pytest.param(empty_report(), id="empty"),
        pytest.param(hostile_report(), id="hostile"),
    ],
)
def test_report_holds_nothing_but_its_own_markup(report: WeeklyReport) -> None:
    markdown = render_markdown(report)

    blocks = {token.type.removesuffix("_open").removesuffix("_close") for token in _PARSER.parse(markdown)}
    assert blocks <= _BLOCKS
    assert {span.type for span in spans_of(markdown)} <= _SPANS


@given(text=texts)
def test_any_words_from_sessions_are_shown_as_they_are(text: str) -> None:
    shown = f"it says {remark(text)} twice".replace("  ", " ")
    (paragraph,) = (token for token in _PARSER.parse(escape(shown)) if token.type == "inline")

    assert "".join(span.content for span in paragraph.children or ()) == shown
    assert {span.type for span in paragraph.children or ()} <= _SPANS


@given(text=texts)
def test_any_report_keeps_its_tables(text: str) -> None:
    tokens = _PARSER.parse(render_markdown(hostile_report(text)))

    tables = [token.type for token in tokens if token.type in {"tr_open", "th_open", "td_open"}]
    assert tables == [
        token.type
        for token in _PARSER.parse(render_markdown(hostile_report("x")))
        if token.type in {"tr_open", "th_open", "td_open"}
    ]


@pytest.mark.parametrize(
    ("text", "markdown"),
    [
        pytest.param("a|b", "a&#124;b", id="pipe"),
        pytest.param("a`b", "a&#96;b", id="backtick"),
        pytest.param("[a](b)", r"\[a\](b)", id="link"),
        pytest.param("<b>&amp;", "&lt;b&gt;&amp;amp;", id="markup-and-entity"),
        pytest.param("https://e.example", "https`://`e.example", id="address"),
        pytest.param("www.e.example", "www`.`e.example", id="address-without-a-scheme"),
        pytest.param("a@e.example", "a`@`e.example", id="mail-and-mention"),
        pytest.param("@@a", "`@@`a", id="marks-side-by-side"),
        pytest.param("#12", "`#`12", id="reference"),
        pytest.param("# a", r"\# a", id="heading"),
        pytest.param(":tada: 09:10", "`:`tada: 09:10", id="picture-word-but-no-time"),
        pytest.param("$x$ *a* _b_ ~c~", r"\$x\$ \*a\* \_b\_ \~c\~", id="formula-and-emphasis"),
        pytest.param("a\nb\x1b", "a\ufffdb\ufffd", id="control-characters"),
    ],
)
def test_what_has_a_meaning_is_escaped(text: str, markdown: str) -> None:
    assert escape(text) == markdown


def test_names_stand_in_code_spans_unless_these_cannot_hold_them() -> None:
    assert "`debugging`" in render_markdown(example_report())
    assert "a&#124;b" in render_markdown(hostile_report("a|b"))


def test_attack_is_readable() -> None:
    assert remark(ATTACK) in text_of(render_markdown(hostile_report()))


def test_all_figures_are_there() -> None:
    text = text_of(render_markdown(example_report()))

    assert [words for words in words_of_figures(example_report()) if words not in text] == []


def test_same_report_gives_the_same_markdown() -> None:
    assert render_markdown(example_report()) == render_markdown(example_report())
