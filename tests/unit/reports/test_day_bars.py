from __future__ import annotations

from collections.abc import Sequence
from xml.etree.ElementTree import Element

import pytest

from grader_daemon.reports.charts import BOTTOM, TOP
from grader_daemon.reports.day_bars import DayBar, day_bars, scale_end


def bar(*amounts: float, name: str = "11-20", words: str = "said", address: str | None = "/day") -> DayBar:
    """A day; without amounts nothing is known of it."""
    return DayBar(name=name, words=words, amounts=amounts or None, address=address)


def drawn(bars: Sequence[DayBar]) -> Element:
    return day_bars(bars, title="Cost by day", identifier="usage", scale=lambda value: f"${value:g}")


def of_class(picture: Element, kind: str) -> list[Element]:
    return [part for part in picture.iter() if part.get("class") == kind]


def texts(picture: Element) -> list[str | None]:
    return [part.text for part in picture.iter("text")]


@pytest.mark.parametrize(
    ("most", "end"),
    [
        pytest.param(0.0, 2.0, id="nothing-has-a-scale-all-the-same"),
        pytest.param(2.2, 3.0, id="next-round-number"),
        pytest.param(3.0, 3.0, id="a-round-number-is-its-own"),
        pytest.param(0.0031, 0.004, id="parts-of-a-cent"),
        pytest.param(8.1, 10.0, id="next-power-of-ten"),
        pytest.param(61_000.0, 80_000.0, id="large"),
    ],
)
def test_scale_ends_at_a_round_number(most: float, end: float) -> None:
    assert scale_end(most) == pytest.approx(end)


@pytest.mark.parametrize(("most", "end"), [(1, 2), (3, 4), (5, 6), (9, 10), (11, 20), (25, 30)])
def test_half_of_a_scale_of_whole_numbers_is_one(most: float, end: float) -> None:
    assert scale_end(most, whole=True) == end


def path(picture: Element, kind: str) -> str:
    """How a group is drawn; "" where it is not."""
    return "".join(part.attrib["d"] for part in of_class(picture, kind))


def test_groups_of_a_day_stand_on_each_other_down_to_the_ground() -> None:
    picture = drawn([bar(1.0, 0.0, 3.0)])

    # the scale ends at 4, so that a dollar is a quarter of the 140 pixels from 162 to 22
    assert (TOP, BOTTOM) == (22, 162)
    assert path(picture, "s0") == "M0.1 162v-35h0.8v35z"
    assert path(picture, "s1") == ""
    assert path(picture, "s2") == "M0.1 127v-105h0.8v105z"


def test_scale_is_written_at_its_ends_and_in_the_middle() -> None:
    assert texts(drawn([bar(3.9)])) == ["$0", "$2", "$4", "11-20"]


def test_day_of_which_nothing_is_known_is_a_gap() -> None:
    picture = drawn([bar(1.0), bar(), bar(0.0)])

    assert path(picture, "base") == "M0 162h1M2 162h1"  # a day that cost nothing is no gap
    assert path(picture, "s0") == "M0.1 162v-140h0.8v140z"


def test_each_day_says_its_values_and_leads_to_its_sessions() -> None:
    picture = drawn([bar(1.0, words="$1.00", address="/a"), bar(words="no session finished", address=None)])

    [link] = picture.iter("a")
    assert (link.attrib["href"], link.findtext("title")) == ("/a", "$1.00")
    assert [group.findtext("title") for group in picture.iter("g")] == ["no session finished"]


def test_of_many_days_as_many_are_named_as_there_is_room_for_the_last_one_always() -> None:
    named = texts(drawn([bar(1.0, name=f"day {number}") for number in range(90)]))[3:]

    assert len(named) == 7
    assert named[-1] == "day 89"


def test_days_without_anything_known_are_an_empty_picture() -> None:
    assert texts(drawn([bar(), bar()]))[:3] == ["$0", "$1", "$2"]
