"""A report as one page that needs nothing else: no script, no address, no font, its charts inline.

The page is a tree of elements, and only the serialiser writes markup, so text from sessions cannot become any.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import assert_never
from xml.etree.ElementTree import Element, tostring

from grader_daemon.domain.calendar import week_name
from grader_daemon.domain.insight import Group, WeeklyReport
from grader_daemon.reports.change_words import mark_words
from grader_daemon.reports.charts import Bar, Event, bar_chart, scale_end, strip, trend_chart
from grader_daemon.reports.document_parts import (
    Block,
    Entries,
    Entry,
    Layout,
    Prose,
    Row,
    Section,
    Table,
    Topic,
    lay_out,
)
from grader_daemon.reports.markup import element
from grader_daemon.reports.numbers import TRENDED, Direction, Measure, tick_words
from grader_daemon.reports.safe_text import Name, Words, name
from grader_daemon.reports.style import style_sheet

_POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"
_BAND_NOTE = "Dots are weeks, the band is the 95 % range. A week with too few sessions leaves a gap."
_BAR_NOTE = "The tick is the week before."
_NO_BAR_BEFORE = "None of these failed the week before."
_STRIP_NOTE = "● this week, ○ the week before"
_KIND_OF: Mapping[Direction | None, str] = {
    Direction.BETTER: "better",
    Direction.WORSE: "worse",
    Direction.UNCLEAR: "unclear",
}


Addresses = Mapping[str | Words, str]
"""Addresses of details: by the name of a session, and by the title of an entry."""


def render_html(report: WeeklyReport) -> str:
    """Return a report as a whole page."""
    whole = lay_out(report)
    page = element("html", _head(whole), element("body", element("main", *_parts(whole, report, {}))), lang="en")
    return f"<!DOCTYPE html>\n{tostring(page, encoding='unicode', method='html')}\n"


def report_parts(report: WeeklyReport, *, addresses: Addresses) -> Iterable[Element]:
    """Return a report as the elements of a page that has its own style, with links to what has an address."""
    return _parts(lay_out(report), report, addresses)


def _head(whole: Layout) -> Element:
    style = Element("style")
    style.text = style_sheet()  # written as it is: the serialiser escapes nothing in here
    return element(
        "head",
        element("meta", charset="utf-8"),
        element("meta", http_equiv="Content-Security-Policy", content=_POLICY),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("meta", name="referrer", content="no-referrer"),
        element("title", f"{whole.title}: {whole.subtitle}"),
        style,
    )


def _parts(whole: Layout, report: WeeklyReport, addresses: Addresses) -> Iterable[Element]:
    notes = (element("p", *_said(words), class_="note") for words in whole.notes)
    yield element("header", element("h1", whole.title), element("p", whole.subtitle), *notes)
    for section in whole.sections:
        yield _section(section, report, addresses)


def _section(section: Section, report: WeeklyReport, addresses: Addresses) -> Element:
    heading = f"{section.topic}-heading"
    made = element(
        "section",
        element("h2", section.title, id=heading),
        element("div", *_drawn(section, report, addresses), class_="body"),
        class_=section.topic,
        aria_labelledby=heading,
    )
    made.tail = "\n"
    return made


def _drawn(section: Section, report: WeeklyReport, addresses: Addresses) -> Iterable[Element]:
    """Return the blocks of a section, and the charts that go with them."""
    blocks = (_block(block, addresses) for block in section.blocks)
    if section.topic is Topic.TREND:
        return (*_trends(report), *blocks)
    if section.topic is Topic.PROBLEMS:
        return (*blocks, *_bars(report))
    return blocks


def _block(block: Block, addresses: Addresses) -> Element:
    match block:
        case Prose(words):
            return element("p", *_said(words))
        case Table():
            return _table(block)
        case Entries(items):
            return element("ul", *(_entry(entry, addresses) for entry in items))
        case _:
            assert_never(block)


def _said(words: Words, addresses: Addresses | None = None) -> Iterable[Element | str]:
    """Set names apart: in their own type, and so that their direction does not change that of what follows."""
    for part in words:
        if not isinstance(part, Name):
            yield part
            continue
        shown = element("code", element("bdi", part.text))
        address = None if addresses is None else addresses.get(part.text)
        yield shown if address is None else element("a", shown, href=address)


def _entry(entry: Entry, addresses: Addresses) -> Element:
    address = addresses.get(entry.title)
    said = _said(entry.title)
    title = element("h3", *said) if address is None else element("h3", element("a", *said, href=address))
    return element("li", title, *(element("p", *_said(words, addresses)) for words in entry.lines))


def _table(table: Table) -> Element:
    heads = [_head_cell(column.title, "number" if column.is_number else "text") for column in table.columns]
    if any(row.figure for row in table.rows):
        heads.append(_head_cell(_scale_words(table), "drawn"))
    return element(
        "table",
        element("caption", table.caption, *_legend(table)),
        element("thead", element("tr", *heads, role="row"), role="rowgroup"),
        element("tbody", *(_row(row, table) for row in table.rows), role="rowgroup"),
        role="table",
    )


def _head_cell(title: str, kind: str) -> Element:
    return element("th", title, scope="col", role="columnheader", class_=kind)


def _row(row: Row, table: Table) -> Element:
    first, *others = row.cells
    made = element("tr", element("th", *_said(first), scope="row", role="rowheader"), role="row")
    for cell, column in zip(others, table.columns[1:], strict=True):
        kind = "number" if column.is_number else f"meaning {_KIND_OF.get(row.direction, 'unknown')}"
        made.append(element("td", *_said(cell), role="cell", class_=kind, data_label=column.title))
    if row.figure is not None and row.measure is not None:
        drawn = strip(row.figure, row.measure, highest=_highest(table, row.measure))
        made.append(element("td", drawn, role="cell", class_="drawn"))
    made.tail = "\n"
    return made


def _highest(table: Table, measure: Measure) -> float:
    """Return the end of the scale on which rows are drawn: one for the table, if all rows are of one measure."""
    if len(_measures(table)) > 1:
        return measure.highest
    return scale_end((one for row in table.rows if row.figure for one in (row.figure.now, row.figure.before)), measure)


def _scale_words(table: Table) -> str:
    measures = _measures(table)
    if len(measures) > 1:
        return "lowest to highest"
    lowest, highest = measures[0].lowest, _highest(table, measures[0])
    return f"{tick_words(lowest, measures[0])} to {tick_words(highest, measures[0])}"


def _legend(table: Table) -> list[Element]:
    """Explain what is drawn, where it is drawn first."""
    return [element("span", _STRIP_NOTE, class_="aside")] if len(_measures(table)) > 1 else []


def _measures(table: Table) -> list[Measure]:
    return list({row.measure.name: row.measure for row in table.rows if row.measure is not None}.values())


def _marks(report: WeeklyReport) -> Iterator[str]:
    """Yield what a mark on each week of the trend says: what changed there, of the agents and of the grader."""
    graded_anew = {week_name(change.at.date()) for change in report.grader_changes}
    for point in report.trend:
        words = [mark_words(point.changes)] if point.changes else []
        yield ", ".join([*words, "grader changed"] if point.week in graded_anew else words)


def _trends(report: WeeklyReport) -> list[Element]:
    weeks = [name(point.week).text for point in report.trend]
    events = [Event(at=place, name=words) for place, words in enumerate(_marks(report)) if words]
    figures = []
    for measure in TRENDED:
        estimates = [getattr(point, measure.report) for point in report.trend]
        if any(estimate.value is not None for estimate in estimates):
            identifier = f"trend-{measure.brief.split()[0].lower()}"
            chart = trend_chart(weeks, estimates, measure=measure, identifier=identifier, events=events)
            figures.append(_figure(measure.name, chart))
    return _gallery(figures, _BAND_NOTE)


def _bars(report: WeeklyReport) -> list[Element]:
    charts = (
        ("Failures by tool", "failures-by-tool", report.error_prone_tools),
        ("Failures by error", "failures-by-error", report.common_errors),
    )
    figures = [
        _figure(title, bar_chart([_bar(group) for group in groups], title=title, identifier=identifier))
        for title, identifier, groups in charts
        if groups
    ]
    compared = any(group.failures_before for group in (*report.error_prone_tools, *report.common_errors))
    return _gallery(figures, _BAR_NOTE if compared else _NO_BAR_BEFORE)


def _bar(group: Group) -> Bar:
    return Bar(name=name(group.name).text, now=group.failures, before=group.failures_before)


def _gallery(figures: list[Element], note: str) -> list[Element]:
    if not figures:
        return []
    return [element("div", *figures, class_="charts"), element("p", note, class_="small")]


def _figure(title: str, chart: Element) -> Element:
    made = element("figure", element("figcaption", title), chart)
    made.tail = "\n"
    return made
