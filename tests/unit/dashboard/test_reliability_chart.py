from __future__ import annotations

from xml.etree.ElementTree import Element

from grader_daemon.dashboard.reliability_chart import reliability_chart
from grader_daemon.domain.calibration import ReliabilityBin
from grader_daemon.domain.estimate import Estimate, proportion


def drawn(*bins: ReliabilityBin) -> Element:
    return reliability_chart(bins, identifier="r")


def of_class(chart: Element, kind: str) -> list[Element]:
    return [part for part in chart.iter() if part.get("class") == kind]


def test_what_is_as_likely_as_it_was_called_lies_on_the_diagonal() -> None:
    chart = drawn(ReliabilityBin(0.5, proportion(50, 100)))
    [ideal], [dot] = of_class(chart, "ideal"), of_class(chart, "dot")
    assert float(dot.attrib["cx"]) == (float(ideal.attrib["x1"]) + float(ideal.attrib["x2"])) / 2
    assert float(dot.attrib["cy"]) == (float(ideal.attrib["y1"]) + float(ideal.attrib["y2"])) / 2


def test_interval_reaches_to_both_sides_and_is_said_in_words() -> None:
    chart = drawn(ReliabilityBin(0.7, proportion(3, 10)))
    [interval], [dot] = of_class(chart, "range"), of_class(chart, "dot")
    assert float(interval.attrib["y2"]) < float(dot.attrib["cy"]) < float(interval.attrib["y1"])
    described = chart.find("desc")
    assert described is not None
    assert described.text == "70% likely, 0.30 (0.11\N{EN DASH}0.60) of 10 done."


def test_what_has_no_value_or_no_interval_is_not_made_up() -> None:
    chart = drawn(ReliabilityBin(0.1, Estimate(sample=1)), ReliabilityBin(0.9, Estimate(value=1.0, sample=2)))
    assert len(of_class(chart, "dot")) == 1
    assert of_class(chart, "range") == []
