"""A session as a strip: a bar for each message, what was found above them, the time that passed below.

A long session has a bar for several messages. Links lead to what was found; where a strip is clicked elsewhere a
script tells which message that is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from math import ceil, log1p
from typing import Final, NamedTuple
from xml.etree.ElementTree import Element

import msgspec

from grader_daemon.domain.analysis import FailureKind
from grader_daemon.domain.claims import Support
from grader_daemon.domain.session import ASSISTANT, TOOL, USER
from grader_daemon.domain.text import count, duration_words
from grader_daemon.reports.markup import element

MOST_BARS: Final = 200
_FEWEST_PLACES: Final = 40
"""A short session does not get bars that are wider."""
_TOP, _BASE, _DEEPEST = 18, 54, 68
"""Pixels from the top: where the highest bar ends, where all of them stand, where the longest wait ends."""
_MARKS_LINE: Final = 12
_LEAST_BAR: Final = 4
_BAR_WIDTH: Final = 0.8
"""Width of a bar, as a part of its place."""
_ROLES: Final = {USER: "user", ASSISTANT: "agent", TOOL: "tool"}
_NEVER_WAITED_FOR: Final = USER
"""The time before a message of a person is theirs."""


class MapMessage(msgspec.Struct, frozen=True, gc=False):
    """One message: who speaks, how much, how long after the one before (None: not known), and what was found in it."""

    role: str
    characters: int
    seconds: float | None = None
    failure: FailureKind | None = None
    claim: Support | None = None
    by_person: bool = False


class Mark(NamedTuple):
    """Mark of a finding, the gravest first; `words` name it."""

    kind: str
    sign: str
    words: str


_HARMFUL: Final = Mark("harmful", "✕", "unrecovered error")
_CONTRADICTED: Final = Mark("harmful", "◆", "contradicted claim")
_PERSON: Final = Mark("person", "▲", "comment by a person")
_FAILURE: Final = Mark("failure", "×", "recovered or expected error")
_CLAIM: Final = Mark("claim", "●", "claim")
MARKS: Final = (_HARMFUL, _CONTRADICTED, _PERSON, _FAILURE, _CLAIM)
"""The gravest first: where several fall together that one is drawn."""


class _Bar(NamedTuple):
    """Bar for some messages: the shares of them that failed, and the gravest finding with its message."""

    kind: str
    characters: int
    seconds: float
    harmful: float
    got_over: float
    mark: Mark | None
    target: int


def minimap(messages: Sequence[MapMessage], *, shown: range, page: int, address: Callable[[int], str]) -> Element:
    """Draw a session; `shown` are the messages below, of a `page` of so many, `address` is where a message is."""
    bars, height = list(_bars(messages)), _DEEPEST if has_times(messages) else _BASE + 1
    places = max(len(bars), _FEWEST_PLACES)
    drawn = element(
        "svg",
        element("title", "Map of the session", id="map-title"),
        element("desc", _description(messages), id="map-desc"),
        role="group",
        class_="map",
        width="100%",
        height=height,
        aria_labelledby="map-title map-desc",
        data_messages=len(messages),
        data_page=page,
        data_part=len(bars) / places,
    )
    if len(shown) < len(messages):
        drawn.append(_window(shown, len(messages), len(bars) / places, height))
    drawn.append(_curves(bars, places, height))
    drawn.extend(_link(place, bar, places, address) for place, bar in enumerate(bars) if bar.mark is not None)
    return drawn


def marks_of(messages: Iterable[MapMessage]) -> list[Mark]:
    """Return the signs that stand for what was found, the gravest first."""
    found = {_mark(message) for message in messages}
    return [mark for mark in MARKS if mark in found]


def has_times(messages: Iterable[MapMessage]) -> bool:
    """Return whether any wait is drawn."""
    return any(_waited(message) for message in messages)


def _bars(messages: Sequence[MapMessage]) -> Iterator[_Bar]:
    size = max(1, ceil(len(messages) / MOST_BARS))
    for begin in range(0, len(messages), size):
        yield _bar(begin, messages[begin : begin + size])


def _bar(begin: int, messages: Sequence[MapMessage]) -> _Bar:
    longest = max(messages, key=lambda message: message.characters)
    found = [(_mark(message), index) for index, message in enumerate(messages, begin)]
    marks = [(MARKS.index(mark), index, mark) for mark, index in found if mark is not None]
    _, target, mark = min(marks) if marks else (0, begin, None)
    failed = [message.failure for message in messages if message.failure is not None]
    harmful = failed.count(FailureKind.HARMFUL)
    return _Bar(
        kind=_ROLES.get(longest.role, "other"),
        characters=longest.characters,
        seconds=sum(map(_waited, messages)),
        harmful=harmful / len(messages),
        got_over=(len(failed) - harmful) / len(messages),
        mark=mark,
        target=target,
    )


def _mark(message: MapMessage) -> Mark | None:
    if message.failure is FailureKind.HARMFUL:
        return _HARMFUL
    if message.claim is Support.CONTRADICTED:
        return _CONTRADICTED
    if message.by_person:
        return _PERSON
    if message.failure is not None:
        return _FAILURE
    return None if message.claim is None else _CLAIM


def _waited(message: MapMessage) -> float:
    return 0.0 if message.role == _NEVER_WAITED_FOR or message.seconds is None else message.seconds


def _curves(bars: Sequence[_Bar], places: int, height: int) -> Element:
    """Draw bars and waits, one path for each kind, in a picture that is stretched to the width."""
    most, longest = max(bar.characters for bar in bars), max(bar.seconds for bar in bars)
    paths: dict[str, list[str]] = {}
    for place, bar in enumerate(bars):
        top = _LEAST_BAR + _share(bar.characters, most) * (_BASE - _TOP - _LEAST_BAR)
        for kind, share in ((bar.kind, 1.0), ("failure", bar.harmful + bar.got_over), ("harmful", bar.harmful)):
            if share:
                part = max(_LEAST_BAR, share * top)
                paths.setdefault(kind, []).append(f"M{place} {_BASE}v{-part:.0f}h{_BAR_WIDTH}V{_BASE}z")
        if bar.seconds:
            depth = 1 + _share(bar.seconds, longest) * (_DEEPEST - _BASE - 3)
            paths.setdefault("wait", []).append(f"M{place} {_BASE + 2}v{depth:.0f}h{_BAR_WIDTH}V{_BASE + 2}z")
    drawn = [element("path", d="".join(path), class_=kind) for kind, path in sorted(paths.items(), key=_order)]
    box = f"0 0 {places} {height}"
    return element(
        "svg", *drawn, viewBox=box, preserveAspectRatio="none", width="100%", height=height, aria_hidden="true"
    )


def _order(path: tuple[str, list[str]]) -> int:
    """Return when a path is drawn: failures over the bars of who speaks, harmful ones over all."""
    return ("failure", "harmful").index(path[0]) if path[0] in ("failure", "harmful") else -1


def _share(value: float, most: float) -> float:
    """Return how high a value stands, 0 to 1; ten times as much is a step, so that short ones can be told apart."""
    return log1p(value) / log1p(most) if most else 0.0


def _window(shown: range, total: int, part: float, height: int) -> Element:
    begin, width = (f"{100 * part * place / total:.2f}%" for place in (shown.start, max(len(shown), total / 100)))
    return element("rect", x=begin, width=width, y=0, height=height, class_="band")


def _link(place: int, bar: _Bar, places: int, address: Callable[[int], str]) -> Element:
    """Draw what leads to a finding; the keyboard goes there by keys of its own.

    Of a bar of several messages with failures that is the bar: signs of all of them would cover those of the others.
    """
    assert bar.mark is not None
    words = element("title", f"Message {bar.target}: {bar.mark.words}")
    return element("a", words, _sign(place, bar, bar.mark, places), href=address(bar.target), tabindex="-1")


def _sign(place: int, bar: _Bar, mark: Mark, places: int) -> Element:
    if mark in (_HARMFUL, _FAILURE) and bar.harmful + bar.got_over < 1:
        width = f"{100 * _BAR_WIDTH / places:.2f}%"
        return element("rect", x=f"{100 * place / places:.2f}%", width=width, y=_TOP, height=_BASE - _TOP, class_="hit")
    middle = f"{100 * (place + _BAR_WIDTH / 2) / places:.2f}%"
    return element("text", mark.sign, x=middle, y=_MARKS_LINE, class_=f"middle {mark.kind}")


def _description(messages: Sequence[MapMessage]) -> str:
    marks = [_mark(message) for message in messages]
    found = [(mark.words, marks.count(mark)) for mark in MARKS if mark in marks]
    said = "; ".join(f"{words}: {times:,}" for words, times in found)
    waited = sum(map(_waited, messages))
    passed = f"; {duration_words(waited)} of work" if waited else ""
    return f"{count(len(messages), 'message')}{passed}{f'; {said}' if said else ''}."
