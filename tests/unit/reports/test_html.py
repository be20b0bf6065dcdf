from __future__ import annotations

from html.parser import HTMLParser
from xml.etree.ElementTree import tostring

import msgspec
import pytest
from hypothesis import given

from grader_daemon.domain.estimate import Estimate
from grader_daemon.domain.insight import WeeklyReport
from grader_daemon.reports.html import Addresses, render_html, report_parts
from grader_daemon.reports.phrasing import issue_title
from grader_daemon.reports.safe_text import plain, remark
from grader_daemon.reports.style import style_sheet
from tests.reports_examples import ATTACK, empty_report, example_report, example_trend, hostile_report
from tests.reports_figures import words_of_figures
from tests.strategies import texts

_VOID = {"meta"}
_PAGE = {
    "html",
    "head",
    "title",
    "style",
    "body",
    "main",
    "header",
    "section",
    "div",
    "h1",
    "h2",
    "h3",
    "p",
    "ul",
    "li",
}
_INLINE = {"code", "bdi", "span"}
_TABLE = {"table", "caption", "thead", "tbody", "tr", "th", "td"}
_PICTURE = {"figure", "figcaption", "svg", "desc", "text", "tspan", "line", "rect", "circle", "polyline", "polygon"}
_ELEMENTS = _VOID | _PAGE | _INLINE | _TABLE | _PICTURE
_ATTRIBUTES = {
    *("lang", "charset", "http-equiv", "name", "content", "id", "class", "role", "scope", "data-label"),
    *("aria-labelledby", "aria-hidden", "width", "height", "viewbox", "preserveaspectratio", "vector-effect"),
    *("x", "y", "x1", "x2", "y1", "y2", "dx", "text-anchor", "cx", "cy", "r", "points"),
}


class Page(HTMLParser):
    """What a browser finds in a page."""

    def __init__(self, markup: str) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.text: dict[str, str] = {}
        self._open: list[str] = []
        self.feed(markup)
        self.close()
        assert self._open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag not in _VOID:
            self._open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        inside = self._open[-1] if self._open else ""
        self.text[inside] = self.text.get(inside, "") + data

    def handle_comment(self, data: str) -> None:
        raise AssertionError(f"a comment: {data}")

    def having(self, tag: str) -> list[dict[str, str | None]]:
        """The attributes of all elements of a kind."""
        return [attributes for name, attributes in self.elements if name == tag]

    @property
    def words(self) -> str:
        """All text but the style sheet."""
        return "\n".join(text for tag, text in self.text.items() if tag != "style")


def flat(markup: str) -> str:
    """A page's text with names set into their sentences."""
    page = Page(markup.replace("<code><bdi>", "").replace("</bdi></code>", ""))
    return page.words


@pytest.mark.parametrize(
    "report",
    [
        pytest.param(example_report(complete=False), id="full"),
        pytest.param(empty_report(), id="empty"),
        pytest.param(hostile_report(), id="hostile"),
    ],
)
def test_page_holds_only_what_cannot_act_or_reach_out(report: WeeklyReport) -> None:
    page = Page(render_html(report))

    assert {tag for tag, _ in page.elements} <= _ELEMENTS
    assert {name for _, attributes in page.elements for name in attributes} <= _ATTRIBUTES
    assert page.text["style"] == style_sheet()


@given(text=texts)
def test_no_words_from_sessions_become_markup(text: str) -> None:
    markup = render_html(hostile_report(text))
    page = Page(markup)

    assert {tag for tag, _ in page.elements} <= _ELEMENTS
    assert {name for _, attributes in page.elements for name in attributes} <= _ATTRIBUTES
    assert markup.replace("\n", "").replace("\ufffd", "").isprintable()


def test_attack_is_shown_as_the_text_it_is() -> None:
    assert remark(ATTACK) in flat(render_html(hostile_report()))


def test_page_may_load_nothing() -> None:
    policies = [meta["content"] for meta in Page(render_html(example_report())).having("meta") if "http-equiv" in meta]

    assert len(policies) == 1
    assert str(policies[0]).startswith("default-src 'none'; style-src 'unsafe-inline'")


def test_all_figures_are_there() -> None:
    text = flat(render_html(example_report()))

    assert [words for words in words_of_figures(example_report()) if words not in text] == []


def test_every_picture_has_words_or_is_told_in_its_table() -> None:
    page = Page(render_html(example_report()))
    pictures = page.having("svg")
    names = {attributes.get("id") for _, attributes in page.elements}

    assert pictures
    for picture in pictures:
        told = str(picture.get("aria-labelledby", "")).split()
        assert picture.get("aria-hidden") == "true" or (picture["role"] == "img" and len(told) == 2)
        assert names.issuperset(told)


def test_ids_are_unique() -> None:
    page = Page(render_html(hostile_report()))
    ids = [attributes["id"] for _, attributes in page.elements if "id" in attributes]

    assert len(set(ids)) == len(ids)


def test_tables_have_captions_and_scopes() -> None:
    page = Page(render_html(example_report()))

    assert len(page.having("caption")) == len(page.having("table")) == 5
    assert {header["scope"] for header in page.having("th")} == {"col", "row"}


def test_cells_know_their_column_where_it_is_not_shown() -> None:
    cells = Page(render_html(example_report())).having("td")

    assert all(cell.get("data-label") or cell["class"] == "drawn" for cell in cells)


def test_clear_changes_stand_out() -> None:
    kinds = [cell["class"] for cell in Page(render_html(example_report())).having("td")]

    assert {"meaning worse", "meaning unclear", "meaning unknown"} <= set(kinds)


def test_section_that_could_be_drawn_but_has_no_values_has_no_charts() -> None:
    thin = tuple(
        msgspec.structs.replace(
            point,
            ended_badly=Estimate(sample=2),
            avg_tool_efficiency=Estimate(sample=2),
            avg_response_quality=Estimate(sample=2),
            failure_rate=Estimate(sample=2),
        )
        for point in example_trend(3)
    )
    page = Page(render_html(empty_report(trend=thin)))

    assert page.having("figure") == []
    assert "too few" in page.words


def test_same_report_gives_the_same_page() -> None:
    assert render_html(example_report()) == render_html(example_report())


def test_a_tick_is_explained_where_there_is_one() -> None:
    fresh = [
        tuple(msgspec.structs.replace(group, failures_before=0) for group in groups)
        for groups in (example_report().error_prone_tools, example_report().common_errors)
    ]
    assert "The tick is the week before." in render_html(example_report())
    alone = render_html(example_report(error_prone_tools=fresh[0], common_errors=fresh[1]))
    assert "The tick is the week before." not in alone
    assert "None of these failed the week before." in alone


def test_ids_of_sessions_lead_to_a_command() -> None:
    assert "Details of a session: <code><bdi>grader-daemon why ID</bdi></code>." in render_html(example_report())


def test_parts_for_another_page_lead_to_what_has_an_address() -> None:
    report = example_report()
    issue, session = report.new_issues[0], report.suggestions[0].sessions[0]
    addresses: Addresses = {issue_title(issue): "/errors/1", session: "/session/2"}
    links = [link for part in report_parts(report, addresses=addresses) for link in part.iter("a")]

    assert {(link.get("href"), "".join(link.itertext())) for link in links} == {
        ("/errors/1", plain(issue_title(issue))),
        ("/session/2", session),
    }


def test_parts_without_addresses_are_those_of_the_page() -> None:
    parts = report_parts(example_report(), addresses={})

    assert all(tostring(part, "unicode", "html") in render_html(example_report()) for part in parts)
