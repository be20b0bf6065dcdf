"""Style of a page: two palettes and one style sheet (`page.css`), for screens of any width and for paper.

Blue and vermilion can be told apart by nearly everyone, and nothing is said by colour alone. Every letter has a
contrast of at least 4.5 : 1 with what it stands on.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib.resources import files
from types import MappingProxyType
from typing import Final

LIGHT: Final = MappingProxyType(
    {
        "paper": "#fefdfb",
        "ink": "#1d1c1a",
        "muted": "#5f5c56",
        "rule": "#dedad2",
        "accent": "#0b5c92",
        "band": "#d5e4ef",
        "worse": "#a83f06",
    }
)
"""Colours by day, and on paper."""
DARK: Final = MappingProxyType(
    {
        "paper": "#16171a",
        "ink": "#e9e6df",
        "muted": "#a8a59d",
        "rule": "#383a3f",
        "accent": "#82bdea",
        "band": "#24394b",
        "worse": "#f3a36c",
    }
)
"""Colours by night."""


def style_sheet() -> str:
    """Return the whole style sheet."""
    return (
        f":root{{color-scheme:light dark;{variables(LIGHT)}}}\n"
        f"@media screen and (prefers-color-scheme:dark){{:root{{{variables(DARK)}}}}}"
        f"\n{files(__package__).joinpath('page.css').read_text('utf-8')}"
    )


def variables(palette: Mapping[str, str]) -> str:
    """Return a palette as the variables of a style sheet."""
    return ";".join(f"--{name}:{colour}" for name, colour in palette.items())
