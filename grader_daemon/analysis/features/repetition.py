"""Going in circles: the same call, the same result, the same words again."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Final

from grader_daemon.analysis.features.feature import Feature, share
from grader_daemon.analysis.features.session_window import SessionWindow

FEATURES: Final = (
    Feature("repeats", "Share of the last calls, results and texts that occurred before.", -1),
    Feature("same_calls", "Share of the last calls that are repeated word for word.", -0.5),
    Feature("same_results", "Share of the last results that are repeated word for word."),
    Feature("varied_calls", "Share of the last calls with a unique beginning.", 0.5),
    Feature("same_words", "Share of words that the agent's last two texts have in common."),
    Feature("alike_results", "Share of words that the last two results have in common."),
)

_BEGINNING = 60
_PAIR = 2


def measure(window: SessionWindow) -> tuple[float, ...]:
    """Return the features of this group, in order."""
    lengths = [len(call.text) for call in window.calls]
    calls = list(zip(window.tools, window.arguments, lengths, strict=True))
    results = [(result.body, result.length) for result in window.results]
    again = (_again(calls), _again(results), _again(window.said))
    heads = {given[:_BEGINNING] for given in window.arguments}
    return (
        share(sum(again), len(calls) + len(results) + len(window.said)),
        share(again[0], len(calls)),
        share(again[1], len(results)),
        share(len(heads), len(calls)),
        _alike(window.said_words[-2:]),
        _alike([result.words for result in window.results[-2:]]),
    )


def _again(seen: Sequence[Hashable]) -> int:
    return len(seen) - len(set(seen))


def _alike(found: list[set[bytes]]) -> float:
    """Return the Jaccard index of two sets of words."""
    if len(found) < _PAIR:
        return 0.0
    one, other = found
    shared = len(one & other)
    return share(shared, len(one) + len(other) - shared)
