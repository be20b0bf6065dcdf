"""Features of what went wrong, above all near the end: errors, empty results, complaints about form, doubt."""

from __future__ import annotations

from itertools import pairwise
from typing import Final

from grader_daemon.analysis.features.feature import Feature, log, share
from grader_daemon.analysis.features.session_window import RecentResult, SessionWindow
from grader_daemon.domain.analysis import CallStatus, FailureKind, errors_of
from grader_daemon.domain.phrases import holds_any

FEATURES: Final = (
    Feature(
        "trouble_at_end",
        "Signs of trouble in the last step: error, empty or repeated result, doubt, repetition.",
        -1,
        6,
    ),
    Feature("struggle", "Errors, format complaints and apologies per turn, in the last turns.", -1),
    Feature("errors_at_end", "Share of the last three results that mention an error.", -1),
    Feature("error_last", "The last result mentions an error."),
    Feature("failures", "Share of failures among the last results."),
    Feature("overcome", "Share of failures with a success right after them (0.7 without failures).", 1),
    Feature("left", "Share of unrecovered errors (0.3 without errors).", -1),
    Feature("worse", "Share of the last errors that are in the later half.", -0.5),
    Feature("doubt", "Words of doubt in the agent's last texts (wait, wrong, another approach, …).", -1, 12),
    Feature("form_complaints", "Share of results and messages that say the agent's output could not be parsed.", -1),
    Feature("empty_results", "Share of empty results."),
    Feature("negative_words", "Words in the last two results such as failed, none, missing.", 0, 12),
    Feature("positive_words", "Words in the last two results such as success, enabled, passed.", 0, 12),
    Feature("good_news", "One of the last four results says that something passed or succeeded.", 0.5),
)

_ERROR = frozenset(
    b"error errors traceback exception failed failure invalid denied cannot unable undefined unknown refused".split()
)
_NOT_THERE = (b"not found", b"no such", b"doesnt exist", b"does not exist")
_NOT_THERE_WORDS = frozenset(b"found such exist".split())
_NEGATIVE = _ERROR | frozenset(
    b"fail none null missing no not timeout empty incorrect nan warning unexpected off".split()
)
_POSITIVE = frozenset(
    b"success successful successfully passed complete completed ok enabled excellent active true done created".split()
    + b"updated match matches saved built installed confirmed on yes pass".split()
)
_GOOD = frozenset([b"passed", b"pass", b"success", b"successful", b"successfully", "✓".encode(), "✅".encode()])
_FORM = (
    *(b"dont understand", b"not understand", b"invalid format", b"unknown tool", b"unknown action", b"no such tool"),
    *(b"please use", b"not a valid", b"could not parse", b"did not contain", b"missing required"),
    b"unexpected keyword",
)
_FORM_WORDS = frozenset(b"understand format unknown please valid parse contain missing keyword tool".split())
_DOUBT = frozenset(
    b"wait hmm actually mistake incorrect wrong again still another different unexpected strange confused".split()
    + b"confusion apologize apologies sorry retry instead".split()
)
_APOLOGY = frozenset(b"apologize apologies sorry mistake".split())
_EMPTY = (b"", b"no output", b"none", b"null", b"nan", b"0")
_SHORT = 40
_BRACKETS = 2
_USUALLY_OVERCOME = 0.7
_USUALLY_LEFT = 0.3


def measure(window: SessionWindow) -> tuple[float, ...]:
    """Return the features of this group, in order."""
    results = window.results
    errors = [_speaks_of_error(result) for result in results]
    failed = [result.status is CallStatus.FAILURE for result in results]
    empty = [_is_empty(result) for result in results]
    misread = [_is_misread(result.plain, result.words) for result in results]
    misread += map(_is_misread, window.people, window.people_words)
    doubt = sum([len(said & _DOUBT) for said in window.said_words[-4:]])
    sorry = len(window.said_words) - sum(map(_APOLOGY.isdisjoint, window.said_words))
    steps = max(len(results), len(window.said))
    latest = set().union(*[result.words for result in results[-2:]])
    repeated = len(results) > 1 and results[-1].body == results[-2].body
    return (
        float(sum(errors[-1:] + empty[-1:] + misread[-1:]) + (doubt > 1) + repeated + _repeats_call(window)),
        min(1.0, share(sum(errors) + sum(misread) + sorry + 1, steps + 3)),
        share(sum(errors[-3:]), 3),
        float(errors[-1]) if errors else 0.0,
        share(sum(failed), len(failed)),
        _overcome(failed),
        _left(window),
        _worse(errors),
        log(doubt),
        share(sum(misread), len(misread)),
        share(sum(empty), len(empty)),
        log(len(_NEGATIVE & latest)),
        log(len(_POSITIVE & latest)),
        float(any(not _GOOD.isdisjoint(result.words) for result in results[-4:])),
    )


def _speaks_of_error(result: RecentResult) -> bool:
    """Return whether this is a failure, or holds the words of one."""
    if result.status is CallStatus.FAILURE or not _ERROR.isdisjoint(result.words):
        return True
    return not _NOT_THERE_WORDS.isdisjoint(result.words) and holds_any(result.plain, _NOT_THERE)


def _is_empty(result: RecentResult) -> bool:
    return result.length <= _BRACKETS or (len(result.plain) < _SHORT and result.plain.strip() in _EMPTY)


def _is_misread(said: bytes, found: set[bytes]) -> bool:
    return not _FORM_WORDS.isdisjoint(found) and holds_any(said, _FORM)


def _repeats_call(window: SessionWindow) -> bool:
    called, given = window.tools[-2:], window.arguments[-2:]
    return len(called) > 1 and called[0] == called[1] and given[0] == given[1]


def _overcome(failed: list[bool]) -> float:
    if True not in failed:
        return _USUALLY_OVERCOME
    return share(sum([one and not other for one, other in pairwise(failed)]), sum(failed))


def _left(window: SessionWindow) -> float:
    kinds = [error.kind for error in errors_of(window.failures)]
    return share(kinds.count(FailureKind.HARMFUL), len(kinds)) if kinds else _USUALLY_LEFT


def _worse(errors: list[bool]) -> float:
    half = len(errors) // 2
    early, late = sum(errors[:half]) + 1, sum(errors[half:]) + 1
    return share(late, early + late)
