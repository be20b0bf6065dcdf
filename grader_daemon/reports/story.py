"""The story of a session: the few places that led to how it ended, of all that its grade found."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from enum import StrEnum
from itertools import takewhile
from typing import Final, NamedTuple, TypeAlias

from grader_daemon.domain.analysis import Failure, FailureKind, SessionState, Subcategory
from grader_daemon.domain.claims import AGAINST, Claim
from grader_daemon.domain.grade import Grade
from grader_daemon.domain.people import PersonSignal
from grader_daemon.domain.session_result import ResultStanding
from grader_daemon.domain.verdict import Outcome
from grader_daemon.reports.phrasing import call
from grader_daemon.reports.safe_text import Words

MOST_STEPS: Final = 6
"""So many are read at a glance."""
_DETOUR: Final = 2
"""So many errors of one cause, before it worked, are a detour; one is none."""
_LEAST_REPEATED: Final = 3
"""So many failures of one cause, the last ones of an open session, are no accident."""

_Cause: TypeAlias = tuple[str | None, ...]


class StepKind(StrEnum):
    """Kind of a step, those first that tell most of how a session ended.

    The turning point is where the task is not done: the first error of one of the causes that were never fixed. A cause
    that contradicts a claim comes before others, then a failed check, then what failed last.
    """

    TURNING_POINT = "turning point"
    FALSE_CLAIM = "false claim"
    NEVER_FIXED = "never fixed"
    PERSON = "a person said"
    DETOUR = "detour"


class StoryStep(NamedTuple):
    """A step from message `first` to `last`: a failure, of one cause `times`, a claim, or what a person said."""

    kind: StepKind
    first: int
    last: int
    times: int = 1
    failure: Failure | None = None
    claim: Claim | None = None
    signal: PersonSignal | None = None


class Story(NamedTuple):
    """Steps of a session in the order of its messages: those that tell most, and the rest."""

    steps: tuple[StoryStep, ...] = ()
    rest: tuple[StoryStep, ...] = ()

    @property
    def turning_point(self) -> int | None:
        """The message at which it went wrong; None where there is none such."""
        return next((each.first for each in self.steps if each.kind is StepKind.TURNING_POINT), None)


def story_of(grade: Grade) -> Story:
    """Return the story of a session; an empty one where its claims are all there is to tell."""
    found = [*_failed(grade), *_claimed(grade.claims), *_said(grade.signals_from_people)]
    if all(each.kind is StepKind.FALSE_CLAIM for each in found):
        return Story()
    order = list(StepKind)
    by_weight = sorted(found, key=lambda each: (order.index(each.kind), -each.times, each.first))
    return Story(_in_order(by_weight[:MOST_STEPS]), _in_order(by_weight[MOST_STEPS:]))


def messages_against(grade: Grade) -> frozenset[int]:
    """Return the messages that decide against a claim."""
    return frozenset(claim.evidence[-1] for claim in grade.claims if claim.support in AGAINST and claim.evidence)


def repeated_now(grade: Grade) -> tuple[Failure, ...]:
    """Return the last failures of an open session if they are of one cause, and at least three; else none."""
    if grade.state is not SessionState.OPEN or not grade.failures:
        return ()
    cause, failed = _cause(grade.failures[-1]), reversed(grade.failures)
    same = tuple(takewhile(lambda failure: _cause(failure) == cause and failure.kind is FailureKind.HARMFUL, failed))
    return same[::-1] if len(same) >= _LEAST_REPEATED else ()


def repeated_words(failures: Sequence[Failure]) -> Words:
    """Return what fails over and over: "terminal git push failed 7 times with the same error, permission denied"."""
    last = failures[-1]
    return (*call(last.tool, last.command), f" failed {len(failures):,} times with the same error, {last.words}")


def _in_order(steps: Sequence[StoryStep]) -> tuple[StoryStep, ...]:
    return tuple(sorted(steps, key=lambda each: (each.first, each.last)))


def _failed(grade: Grade) -> Iterator[StoryStep]:
    causes: dict[_Cause, list[Failure]] = {}
    for failure in grade.failures:
        if failure.is_error or _is_red(failure):
            causes.setdefault(_cause(failure), []).append(failure)
    open_ones = [each for each in causes.values() if _is_open(each[-1], grade)]
    against = messages_against(grade)
    worst = max(open_ones, key=lambda each: _weight(each, against), default=None)
    for failures in causes.values():
        if failures in open_ones:
            is_turn = failures is worst and grade.outcome is Outcome.NOT_DONE
            yield _step(StepKind.TURNING_POINT if is_turn else StepKind.NEVER_FIXED, failures)
        elif len(failures) >= _DETOUR and _is_fixed(failures[-1], grade):
            yield _step(StepKind.DETOUR, failures)


def _cause(failure: Failure) -> _Cause:
    return failure.fingerprint or failure.finest, failure.tool, failure.command


def _is_red(failure: Failure) -> bool:
    """Return whether a check failed, which is no error: it says that something else is wrong."""
    return failure.kind is FailureKind.PROBE and failure.subcategory is Subcategory.CHECK_FAILED


def _is_open(last: Failure, grade: Grade) -> bool:
    """Return whether it is known that nothing came after the last failure of a cause that took it away."""
    if not _is_red(last):
        return last.kind is FailureKind.HARMFUL
    return grade.standing is ResultStanding.CHECK_FAILED or last.index in messages_against(grade)


def _weight(failures: Sequence[Failure], against: Collection[int]) -> tuple[bool, bool, int]:
    """Return how much one cause tells of how a session ended: most where a claim is contradicted by it."""
    last = failures[-1]
    return (
        any(each.index in against for each in failures),
        last.subcategory is Subcategory.CHECK_FAILED,
        last.index,
    )


def _is_fixed(last: Failure, grade: Grade) -> bool:
    return grade.standing is ResultStanding.CHECKED if _is_red(last) else last.kind is FailureKind.RECOVERED


def _step(kind: StepKind, failures: Sequence[Failure]) -> StoryStep:
    return StoryStep(kind, failures[0].index, failures[-1].index, len(failures), failures[0])


def _claimed(claims: Sequence[Claim]) -> Iterator[StoryStep]:
    for claim in claims:
        if claim.support in AGAINST:
            yield StoryStep(StepKind.FALSE_CLAIM, claim.index, claim.index, claim=claim)


def _said(signals: Sequence[PersonSignal]) -> Iterator[StoryStep]:
    for signal in signals:
        yield StoryStep(StepKind.PERSON, signal.index, signal.index, signal=signal)
