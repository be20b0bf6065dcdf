from __future__ import annotations

from xml.etree.ElementTree import tostring

from grader_daemon.reports.markup import element


def test_text_and_elements_stand_in_order() -> None:
    made = element("p", "a", "b", element("b", "c"), "d", "e")

    assert tostring(made, encoding="unicode", method="html") == "<p>ab<b>c</b>de</p>"


def test_text_and_attributes_are_cleaned_and_escaped() -> None:
    made = element("p", "<i>\x00\ud800", title='">\x1b')

    assert tostring(made, encoding="unicode", method="html") == (
        '<p title="&quot;&gt;\ufffd">&lt;i&gt;\ufffd\ufffd</p>'
    )


def test_attributes_are_named_as_in_markup_and_numbers_are_short() -> None:
    assert element("rect", class_="bar", aria_hidden="true", x=1 / 3, y=2).attrib == {
        "class": "bar",
        "aria-hidden": "true",
        "x": "0.33",
        "y": "2",
    }
