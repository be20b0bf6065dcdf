"""Filters of the templates: how values read on a page. What words there are, `reports` knows."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from datetime import date, datetime, tzinfo
from typing import Any, Final
from xml.etree.ElementTree import Element, tostring

from markupsafe import Markup, escape

from grader_daemon.domain.calendar import local
from grader_daemon.domain.text import age_words, clean, count, duration_words
from grader_daemon.reports.blocks import blocks_of
from grader_daemon.reports.issue_names import tool_words
from grader_daemon.reports.money import tokens_words, usd_words
from grader_daemon.reports.numbers import UNKNOWN, brief_words
from grader_daemon.reports.safe_text import Name, Words
from grader_daemon.reports.session_words import (
    KIND_WORDS,
    agent_words,
    borne_out,
    brief_state,
    record_words,
    state_words,
)
from grader_daemon.reports.verdicts import grader_name, likely_done, outcome_words, trust_words

_MARKS: Final = r"[\u0300-\u036f\u0483-\u0489\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ufe20-\ufe2f]"
_PILES: Final = re.compile(f"({_MARKS}{{4}}){_MARKS}+")
"""No language puts more than four on a letter; hundreds of them cover the lines above and below."""

_NARROW_COLUMNS: Final = 36
_LOW_LINES: Final = 24
"""What a box of code holds on the narrowest screen: 32 rem of height, and the width of a telephone."""


def shown(value: Any) -> Any:
    """Return a value as it goes into a page: text without control characters, what is not known as such.

    Every value passes here, whatever the template does with it; `Markup` has been made by us.
    """
    if value is None:
        return UNKNOWN
    if isinstance(value, str) and not isinstance(value, Markup):
        return _readable(value)
    return value


def _readable(text: str) -> str:
    """Return text without what hides or covers other text: control characters, and marks piled up on a letter."""
    return _without_piles(clean(text))


def _without_piles(text: str) -> str:
    return text if text.isascii() else _PILES.sub("\\1\N{REPLACEMENT CHARACTER}", text)


def moment_words(when: datetime, zone: tzinfo | None) -> str:
    """Return a moment in `zone` (None: the machine's): 2026-11-22 14:03 CET."""
    return f"{local(when, zone):%Y-%m-%d %H:%M %Z}"


def filters(zone: tzinfo | None) -> dict[str, Callable[..., Any]]:
    """Return the filters of templates; times are shown in `zone` (None: the machine's)."""

    def moment(when: datetime | None) -> str | None:
        return None if when is None else moment_words(when, zone)

    def time(when: datetime | None) -> Markup | None:
        """Return a time as `moment` does, for people and machines."""
        if when is None:
            return None
        return Markup('<time datetime="{}">{}</time>').format(f"{when:%Y-%m-%dT%H:%M:%SZ}", moment(when))

    return {
        "moment": moment,
        "time": time,
        "day": _day,
        "age": _age,
        "duration": duration_words,
        "number": _number,
        "count": count,
        "usd": usd_words,
        "tokens": tokens_words,
        "outcome": outcome_words,
        "agent": agent_words,
        "session_state": state_words,
        "brief_state": brief_state,
        "record": record_words,
        "borne_out": borne_out,
        "brief": brief_words,
        "tool": tool_words,
        "grader": grader_name,
        "trust_words": trust_words,
        "likely_done": likely_done,
        "failure_kind": KIND_WORDS.__getitem__,
        "words": _words,
        "multiline": _multiline,
        "scrolls": _scrolls,
        "written": lambda lines: blocks_of("\n".join(lines)),
        "drawn": _drawn,
    }


def _day(day: date | None) -> str | None:
    return None if day is None else f"{day:%Y-%m-%d}"


def _age(when: datetime | None, now: datetime) -> str | None:
    return None if when is None else age_words(when, now)


def _number(value: float | None) -> str | None:
    return None if value is None else f"{value:,}"


def _words(sentence: Words) -> Markup:
    """Return a sentence whose names stand apart, so that their direction does not change that of what follows."""
    parts = (
        Markup("<code><bdi>{}</bdi></code>").format(_readable(part.text))
        if isinstance(part, Name)
        else escape(_readable(part))
        for part in sentence
    )
    return Markup("").join(parts)


def _multiline(text: str | Iterable[str]) -> Markup:
    """Return text with its line breaks, for an element that keeps them; every line is cleaned."""
    lines = text.split("\n") if isinstance(text, str) else text
    return Markup("\n").join([escape(_readable(line)) for line in lines])


def _scrolls(lines: Iterable[str], held: int = _LOW_LINES) -> bool:
    """Return whether code may be too high for its box of `held` lines, also on a telephone, where long ones break."""
    return sum(1 + len(line) // _NARROW_COLUMNS for line in lines) > held


def _drawn(picture: Element) -> Markup:
    """Return a picture that `reports` made."""
    return Markup(_without_piles(tostring(picture, encoding="unicode", method="html")))  # noqa: S704  a tree; its serialiser escapes
