from __future__ import annotations

from collections.abc import Sequence
from xml.etree.ElementTree import Element

import pytest

from grader_daemon.domain.estimate import Estimate, figure
from grader_daemon.domain.verdict import VerdictCounts
from grader_daemon.reports.charts import (
    BOTTOM,
    TOP,
    Bar,
    ChartDay,
    Event,
    bar_chart,
    scale_end,
    shares_bar,
    sparkline,
    strip,
    trend_chart,
)
from grader_daemon.reports.numbers import COMPLETION, EFFICIENCY, FAILURES
from tests.reports_examples import NOTHING, failing, rate

MISSING = Estimate(sample=3)


def known(value: float, *, margin: float = 0.05) -> Estimate:
    """A value with an interval on both sides."""
    return Estimate(value=value, low=value - margin, high=value + margin, sample=50)


def drawn(estimates: Sequence[Estimate], *, weeks: int | None = None) -> Element:
    """A trend of the completion rate."""
    names = [f"2026-W{number:02}" for number in range(1, (weeks or len(estimates)) + 1)]
    return trend_chart(names, estimates, measure=COMPLETION, identifier="t")


def of_class(chart: Element, kind: str) -> list[Element]:
    """The parts of a kind."""
    return [part for part in chart.iter() if kind in part.get("class", "").split()]


def heights(chart: Element) -> list[float]:
    """Where the dots stand, in pixels from the top."""
    return [float(dot.attrib["cy"]) for dot in of_class(chart, "dot")]


def shares(parts: Sequence[Element], name: str) -> list[float]:
    """Places along the width."""
    return [float(part.attrib[name].removesuffix("%")) for part in parts]


def test_chart_has_a_title_and_tells_its_numbers_in_words() -> None:
    chart = drawn([known(0.5), MISSING])
    title, description = chart.find("title"), chart.find("desc")

    assert title is not None
    assert description is not None
    assert (title.text, description.text) == (
        "Completion rate",
        "2026-W01 50 % (45–55 %); 2026-W02 too few sessions (3).",
    )
    assert chart.get("role") == "img"
    assert chart.get("aria-labelledby") == f"{title.get('id')} {description.get('id')}"


def test_each_day_says_its_value_and_leads_to_its_sessions() -> None:
    told = [ChartDay(name=f"{n}", words=f"{n}: 50 %", address=f"/sessions?since={n}") for n in range(3)]
    chart = trend_chart(["0", "1", "2"], [known(0.5)] * 3, measure=COMPLETION, identifier="t", days=told)
    links, hits = chart.findall("a"), of_class(chart, "hit")
    middles = [at + width / 2 for at, width in zip(shares(hits, "x"), shares(hits, "width"), strict=True)]

    assert [(link.get("href"), link.findtext("title")) for link in links] == [(one.address, one.words) for one in told]
    assert middles == pytest.approx(shares(of_class(chart, "dot"), "cx"), abs=0.02)
    assert chart.get("role") == "group", "an image would hide its links"


def test_heights_show_values() -> None:
    nothing, half, everything = heights(drawn([known(0, margin=0), known(0.5), known(1, margin=0)]))

    assert (nothing, everything) == (BOTTOM, TOP)
    assert half == pytest.approx((TOP + BOTTOM) / 2)


def test_weeks_run_from_left_to_right_at_equal_distances() -> None:
    first, second, third = shares(of_class(drawn([known(0.5)] * 3), "dot"), "cx")

    assert second - first == pytest.approx(third - second)
    assert 0 < first < third < 100


def test_band_holds_the_ends_of_the_intervals() -> None:
    (band,) = of_class(drawn([known(0.5, margin=0.5), known(0.5, margin=0.25)]), "band")

    edge = [float(point.split(",")[1]) for point in band.attrib["points"].split()]
    middle, reach = (TOP + BOTTOM) / 2, (BOTTOM - TOP) / 2
    assert edge == pytest.approx([TOP, middle - reach / 2, middle + reach / 2, BOTTOM])


def test_week_with_too_few_sessions_is_a_gap() -> None:
    chart = drawn([known(0.5), known(0.5), MISSING, known(0.5), known(0.5)])

    assert len(of_class(chart, "dot")) == 4
    assert len(of_class(chart, "line")) == len(of_class(chart, "band")) == 2


def test_week_between_gaps_shows_its_interval() -> None:
    (band,) = of_class(drawn([MISSING, known(0.5), MISSING]), "band")

    across = {point.split(",")[0] for point in band.attrib["points"].split()}
    assert len(across) == 2


def test_only_week_stands_in_the_middle() -> None:
    (place,) = shares(of_class(drawn([known(0.5)]), "dot"), "cx")

    assert 45 < place < 60


def test_value_without_an_interval_has_a_band_of_no_height() -> None:
    chart = drawn([Estimate(value=0.5, sample=9), Estimate(value=0.5, sample=9)])

    (band,) = of_class(chart, "band")
    assert len({point.split(",")[1] for point in band.attrib["points"].split()}) == 1


@pytest.mark.parametrize(
    ("estimates", "is_above"),
    [
        pytest.param([known(0.4), known(0.6)], True, id="above-a-rise"),
        pytest.param([known(0.6), known(0.4)], False, id="below-a-fall"),
        pytest.param([MISSING, known(0.4)], True, id="above-after-a-gap"),
        pytest.param([known(0.4)], True, id="above-a-week-alone"),
    ],
)
def test_last_number_stands_clear_of_its_line(estimates: list[Estimate], *, is_above: bool) -> None:
    chart = drawn(estimates)

    (label,) = of_class(chart, "value")
    assert (float(label.attrib["y"]) < heights(chart)[-1]) is is_above


def test_last_week_without_a_value_has_no_number() -> None:
    assert of_class(drawn([known(0.5), MISSING]), "value") == []


@pytest.mark.parametrize("weeks", [1, 7, 8, 12, 53])
def test_narrow_screens_have_room_for_the_names_of_weeks(weeks: int) -> None:
    names = [part.text for part in of_class(drawn([known(0.5)] * weeks), "middle") if "tick" in part.attrib["class"]]

    assert len(names) <= 7
    assert names[-1] == f"W{weeks:02}"


@pytest.mark.parametrize(
    ("estimates", "end"),
    [
        pytest.param([], 0.02, id="nothing"),
        pytest.param([MISSING], 0.02, id="no-values"),
        pytest.param([known(0.03, margin=0.01)], 0.05, id="round-number-above-the-interval"),
        pytest.param([failing(9, 10, sessions=9)], 1.0, id="everything-fails"),
        pytest.param([known(1, margin=0.2)], 1.0, id="never-more-than-all"),
    ],
)
def test_scale_of_failures_ends_soon_after_them(estimates: list[Estimate], end: float) -> None:
    assert scale_end(estimates, FAILURES) == end


def test_scale_of_scores_is_always_whole() -> None:
    assert scale_end([known(2)], EFFICIENCY) == 5


def test_bars_are_as_long_as_their_numbers() -> None:
    chart = bar_chart([Bar(name="a", now=40, before=20), Bar(name="b", now=10, before=0)], title="T", identifier="b")

    long, short = shares(of_class(chart, "bar"), "width")
    (tick,) = shares(of_class(chart, "before"), "x")
    assert long == pytest.approx(4 * short, rel=0.01)
    assert tick == pytest.approx(long / 2, rel=0.01)


def test_bars_tell_their_numbers_in_words() -> None:
    chart = bar_chart([Bar(name="a", now=1_200, before=20)], title="Failures", identifier="b")

    assert [chart.findtext(tag) for tag in ("title", "desc")] == ["Failures", "a 1,200, the week before 20."]


def test_bars_without_any_failure_have_no_length() -> None:
    chart = bar_chart([Bar(name="a", now=0, before=0)], title="T", identifier="b")

    assert shares(of_class(chart, "bar"), "width") == [0]


def test_strip_shows_both_weeks_on_one_scale() -> None:
    picture = strip(figure(rate(80, 100), rate(20, 100)), COMPLETION, highest=1)

    (now,), (before,) = (shares(of_class(picture, kind), "cx") for kind in ("dot", "ring"))
    (reach,) = of_class(picture, "range")
    assert before < now
    assert shares([reach], "x1")[0] < now < shares([reach], "x2")[0]
    assert picture.get("aria-hidden") == "true"


def test_strip_of_nothing_is_an_empty_scale() -> None:
    picture = strip(NOTHING, COMPLETION, highest=1)

    assert [part.get("class") for part in picture] == ["base"]


def test_events_stand_at_their_day_with_their_name_inside_the_chart() -> None:
    days = [f"11-{number:02}" for number in range(1, 11)]
    events = [Event(at=0, name="alert 1"), Event(at=9, name="alert 2")]
    chart = trend_chart(days, [known(0.5)] * 10, measure=COMPLETION, identifier="t", events=events)

    first, _, last, _ = of_class(chart, "event")
    dots = of_class(chart, "dot")
    assert (first.get("x1"), last.get("x1")) == (dots[0].get("cx"), dots[-1].get("cx"))
    named = [part for part in of_class(chart, "event") if part.tag == "text"]
    assert [(part.text, part.get("text-anchor")) for part in named] == [("alert 1", "start"), ("alert 2", "end")]
    assert [part.text for part in of_class(chart, "tick")][-1] == "11-10"


def viewed(estimates: Sequence[Estimate]) -> tuple[float, float]:
    """From where to where the scale of a sparkline goes, in pixels of a trend."""
    [curves] = sparkline(estimates, measure=COMPLETION)
    _, top, _, height = map(float, curves.attrib["viewBox"].split())
    return top, top + height


def test_sparkline_shows_all_of_its_values_and_makes_no_mountain_of_a_little_rise() -> None:
    top, bottom = viewed([known(0.5), MISSING, known(0.52)])
    assert bottom - top >= (BOTTOM - TOP) / 4
    top, bottom = viewed([known(0.2), known(0.9)])
    assert top < BOTTOM - (BOTTOM - TOP) * 0.95
    assert bottom > BOTTOM - (BOTTOM - TOP) * 0.15


@pytest.mark.parametrize(
    ("verdicts", "widths"),
    [
        pytest.param(VerdictCounts(done=1, not_done=1, unsure=2), ["25.00", "50.00", "25.00"], id="shares"),
        pytest.param(VerdictCounts(no_answer=4), ["0.00", "0.00", "0.00"], id="none-answered"),
    ],
)
def test_bar_of_shares_is_as_wide_as_what_was_answered(verdicts: VerdictCounts, widths: list[str]) -> None:
    parts = list(shares_bar(verdicts))

    assert [part.get("class") for part in parts] == ["done", "unsure", "not_done"]
    assert [part.get("width") for part in parts] == widths
    assert parts[-1].get("x") == f"{float(widths[0]) + float(widths[1]):.2f}"


def test_sparkline_marks_a_day() -> None:
    (mark,) = of_class(sparkline([known(0.5)] * 5, measure=COMPLETION, marked=1), "event")

    assert mark.attrib["d"].startswith("M25.00 0v")


def test_sparkline_of_nothing_is_empty() -> None:
    assert [part.tag for part in sparkline([MISSING, MISSING], measure=COMPLETION).iter()] == ["svg", "svg"]
