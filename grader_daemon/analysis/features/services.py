"""Features of work by the tools of a service: orders, bookings, records."""

from __future__ import annotations

from typing import Final

from grader_daemon.analysis.features.feature import Feature, log, share
from grader_daemon.analysis.features.kind_of_work import KindOfWork, kind_of
from grader_daemon.analysis.features.session_window import SessionWindow, Step
from grader_daemon.analysis.tool_calls import Purpose

FEATURES: Final = (
    Feature("changes_made", "Number of calls that changed something in a service and worked.", 0, 12),
    Feature("change_last", "The last call changed something in a service and worked.", 0.5),
    Feature(
        "asked_made", "Share of the changes that people asked for and calls made in a service (0.5 without any).", 0.5
    ),
    Feature("consented", "A person agrees to a proposal (yes, confirm, proceed, …).", 0.5),
)

_ASKED: Final = {
    b"add": ("add", "create", "update", "refuel"),
    b"book": ("book",),
    b"booking": ("book",),
    b"cancel": ("cancel",),
    b"cancelled": ("cancel",),
    b"cancellation": ("cancel",),
    b"change": ("change", "update", "modify", "exchange", "set"),
    b"create": ("create", "add", "post"),
    b"delete": ("delete", "remove"),
    b"disable": ("disable", "toggle", "suspend"),
    b"enable": ("enable", "toggle", "resume"),
    b"exchange": ("exchange",),
    b"modify": ("modify", "update", "change", "set"),
    b"order": ("create", "order", "post"),
    b"pay": ("pay", "payment"),
    b"refund": ("refund", "return", "cancel", "certificate"),
    b"remove": ("remove", "update", "delete"),
    b"reset": ("reset",),
    b"return": ("return",),
    b"send": ("send",),
    b"update": ("update", "modify", "change", "set"),
    b"upgrade": ("upgrade", "update", "modify", "change"),
}
"""Words of people's requests, and the words in the names of tools that do them."""

_AGREES = frozenset(b"yes confirm confirmed proceed sure agree".split())
_UNKNOWN = 0.5


def measure(window: SessionWindow) -> tuple[float, ...]:
    """Return the features of this group, in order."""
    effects = zip(window.steps, window.step_effects, strict=True)
    made = [step for step, effect in effects if effect is Purpose.CHANGE and not step.failed]
    asked = set[bytes]()
    if kind_of(window) is KindOfWork.SERVICE:
        asked = window.request_words.union(*window.people_words) & _ASKED.keys()
    return (
        log(len(made)),
        float(bool(made) and made[-1] is window.steps[-1]),
        _asked_made(asked, made) if asked else _UNKNOWN,
        float(not all(map(_AGREES.isdisjoint, window.people_words[1:]))),
    )


def _asked_made(asked: set[bytes], made: list[Step]) -> float:
    done = frozenset[str]().union(*[step.call.words for step in made])
    return share(sum([not done.isdisjoint(_ASKED[word]) for word in asked]), len(asked))
