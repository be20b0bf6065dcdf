from __future__ import annotations

from collections.abc import Mapping

import pytest

from grader_daemon.reports.style import DARK, LIGHT, style_sheet


def brightness(colour: str) -> float:
    """Relative luminance, as WCAG 2.2 defines it."""
    shares = (int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5))
    red, green, blue = (share / 12.92 if share <= 0.04045 else ((share + 0.055) / 1.055) ** 2.4 for share in shares)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: str, other: str) -> float:
    """From 1 to 21, as WCAG 2.2 defines it."""
    dark, light = sorted(map(brightness, (one, other)))
    return (light + 0.05) / (dark + 0.05)


@pytest.mark.parametrize("palette", [pytest.param(LIGHT, id="light"), pytest.param(DARK, id="dark")])
@pytest.mark.parametrize("colour", ["ink", "muted", "accent", "worse"])
def test_letters_can_be_read(palette: Mapping[str, str], colour: str) -> None:
    assert contrast(palette[colour], palette["paper"]) >= 4.5


@pytest.mark.parametrize("palette", [pytest.param(LIGHT, id="light"), pytest.param(DARK, id="dark")])
def test_lines_can_be_told_from_their_bands(palette: Mapping[str, str]) -> None:
    assert contrast(palette["accent"], palette["band"]) >= 3


def test_style_sheet_reaches_nothing_outside() -> None:
    assert not any(word in style_sheet() for word in ("url(", "@import", "</", "http"))


def test_every_colour_is_named_and_every_name_is_used() -> None:
    assert set(LIGHT) == set(DARK)
    assert all(f"var(--{name})" in style_sheet() for name in LIGHT)


def test_on_a_narrow_screen_nothing_floats_beside_a_table() -> None:
    # Beside the legend, which floats on wide screens, the rows of the first table had half of a narrow one.
    narrow = style_sheet().partition("@media screen and (max-width:48rem){")[2].partition("@media print")[0]
    assert "caption .aside{float:none;display:block}" in narrow
