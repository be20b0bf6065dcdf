from __future__ import annotations

from datetime import date, timedelta
from xml.etree.ElementTree import Element

import pytest

from grader_daemon.domain.estimate import Estimate
from grader_daemon.reports.charts import ChartDay
from grader_daemon.reports.finding_charts import change_strip, day_bars, day_chart, days_words, part_strip

FIRST = date(2026, 11, 1)


def days(*failures: int) -> dict[date, int]:
    """So many failures on each day from the first on."""
    return {FIRST + timedelta(days=number): each for number, each in enumerate(failures)}


def of_class(chart: Element, kind: str) -> list[Element]:
    return [part for part in chart.iter() if part.get("class") == kind]


def test_each_day_has_a_bar_as_high_as_its_failures() -> None:
    bars = of_class(day_chart(days(0, 4, 2), identifier="d"), "bar")
    heights = [float(bar.attrib["height"]) for bar in bars]

    assert heights == [0, 2 * heights[2], heights[1] / 2]
    assert [bar.findtext("title") for bar in bars] == [
        "2026-11-01: 0 failures",
        "2026-11-02: 4 failures",
        "2026-11-03: 2 failures",
    ]


def test_each_day_leads_to_its_sessions() -> None:
    links = [ChartDay(name=f"{n}", words=f"{n}", address=f"/{n}") for n in range(2)]
    chart = day_chart(days(0, 4), identifier="d", links=links)

    assert [link.get("href") for link in chart.findall("a")] == ["/0", "/1"]
    assert [hit.get("x") for hit in of_class(chart, "hit")] == ["0%", "50%"]


def test_chart_of_days_tells_its_most_and_its_ends() -> None:
    chart = day_chart(days(0, 1_200, 2), identifier="d")

    assert [part.text for part in of_class(chart, "tick")] == ["1,200 a day", "2026-11-01", "2026-11-03"]
    assert chart.findtext("desc") == "on 2 of 3 days, most on 2026-11-02: 1,200."
    assert chart.get("aria-labelledby") == "d-title d-desc"


def test_days_without_failures_are_an_empty_chart() -> None:
    assert len(of_class(day_chart(days(0, 0), identifier="d"), "grid")) == 2
    assert [part.get("d") for part in of_class(day_bars(days(0, 0)), "bar")] == [""]


def test_small_bars_stand_where_their_days_are() -> None:
    drawn = day_bars(days(0, 4, 2))

    assert [part.get("d") for part in of_class(drawn, "bar")] == ["M4 22v-22h3v22zM8 22v-11h3v11z"]
    assert drawn.get("aria-label") == "on 2 of 3 days, most on 2026-11-02: 4"


def test_one_failure_beside_thousands_is_seen() -> None:
    assert "v-1.5" in str(of_class(day_bars(days(5_000, 1)), "bar")[0].get("d"))


def test_no_failures_are_said() -> None:
    assert days_words(days(0, 0)) == "none in 2 days"


@pytest.mark.parametrize(
    ("part", "place"),
    [(0.0, "50.00%"), (-0.2, "4.00%"), (0.1, "73.00%"), pytest.param(-9.0, "4.00%", id="stays-on-its-scale")],
)
def test_part_stands_left_of_nothing_where_it_took_away(part: float, place: str) -> None:
    (dot,) = of_class(part_strip(part, 0.05, reach=0.2), "dot")

    assert dot.get("cx") == place


def test_part_has_its_interval_where_that_is_known() -> None:
    (interval,) = of_class(part_strip(-0.1, 0.05, reach=0.2), "range")

    assert (interval.get("x1"), interval.get("x2")) == ("15.50%", "38.50%")
    assert of_class(part_strip(-0.1, None, reach=0.2), "range") == []


def test_change_has_the_interval_that_is_known_of_it() -> None:
    drawn = change_strip(Estimate(value=-0.1, low=-0.15, high=0.0), reach=0.2)
    (interval,), (dot,) = of_class(drawn, "range"), of_class(drawn, "dot")

    assert (interval.get("x1"), interval.get("x2"), dot.get("cx")) == ("15.50%", "50.00%", "27.00%")
    assert of_class(change_strip(Estimate(value=-0.1), reach=0.2), "range") == []
