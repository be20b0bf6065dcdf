"""Explanation of a grade: its reasons, the messages that prove them, and what moved the probability."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec

from grader_daemon.api.calibration import display_name, meaning_of
from grader_daemon.api.excerpts import excerpt, failed_excerpt
from grader_daemon.calibration.samples import FEWEST_SESSIONS
from grader_daemon.domain.completion_model import CompletionModel
from grader_daemon.domain.grade import Grade, Reason
from grader_daemon.domain.session import Session
from grader_daemon.grading import CATALOG
from grader_daemon.redaction import Redactor
from grader_daemon.reports.sign_words import compared
from grader_daemon.storage.records import StoredGrade

_TOLD_EFFECTS = 8


class FeatureEffect(msgspec.Struct, frozen=True, kw_only=True):
    """A feature of a session: its value, what it adds to the log-odds of completion, and what the feature is.

    `above` is the share of the user's newest sessions with a smaller value, equal values counting half; None if there
    are too few, and for words. A share of failed calls is compared with sessions that have failed calls.
    """

    name: str
    value: float
    log_odds: float
    meaning: str | None
    above: float | None


class Explanation(msgspec.Struct, frozen=True, kw_only=True):
    """A grade with the sentences of its rules and the messages that prove them.

    `excerpts` maps a message index to "role: text", redacted and cut; of a failed call's output it is the line that
    says what failed. `note` says why they are missing, if they are.
    `refused` are the results of calls that the agent's record says were not allowed, which are no errors.
    `effects` are what moved `p_completed` most; none where the model that gave it is not known any more.
    """

    stored: StoredGrade
    sentences: dict[str, str]
    excerpts: dict[int, str]
    note: str | None
    refused: tuple[int, ...]
    effects: tuple[FeatureEffect, ...]


def explanation(
    stored: StoredGrade,
    session: Session | None,
    *,
    note: str | None,
    redactor: Redactor,
    effects: tuple[FeatureEffect, ...],
) -> Explanation:
    """Explain a grade; `session` is None where it cannot be read, `note` says why."""
    grade = stored.grade
    messages = () if session is None else session.messages
    failed = {failure.index for failure in grade.failures}
    return Explanation(
        stored=stored,
        sentences=sentences_of(grade.reasons),
        excerpts={
            index: f"{messages[index].role}: {_quoted(messages[index].text, redactor, has_failed=index in failed)}"
            for index in _proving(grade)
            if index < len(messages)
        },
        note=note,
        refused=() if session is None else session.refused,
        effects=effects,
    )


def effects_of(grade: Grade, model: CompletionModel, history: Sequence[tuple[float, ...]]) -> tuple[FeatureEffect, ...]:
    """Return the features that moved the probability most.

    `model` is the one that gave it; `history` are the features of the user's newest sessions.
    """
    if len(model.names) != len(grade.features):
        return ()
    values = _told_together(zip(model.names, grade.features, strict=True))
    effects = _told_together(model.contributions(grade.features).items())
    places = {name: place for place, name in enumerate(model.names)}
    known = [features for features in history if len(features) == len(model.names)]
    moved = sorted(effects.items(), key=lambda item: -abs(item[1]))
    return tuple(
        FeatureEffect(
            name=name,
            value=values[name],
            log_odds=log_odds,
            meaning=meaning_of(name),
            above=_above(values[name], compared(name, [each[places[name]] for each in known]))
            if name in places
            else None,
        )
        for name, log_odds in moved[:_TOLD_EFFECTS]
        if log_odds
    )


def _quoted(text: str, redactor: Redactor, *, has_failed: bool) -> str:
    """Return the beginning of a message, and of a failed call's output the line that says what failed."""
    return (failed_excerpt if has_failed else excerpt)(text, redactor) or "(no text)"


def sentences_of(reasons: Sequence[Reason]) -> dict[str, str]:
    """Return what the rules of a grade say, by their ids."""
    return {reason.rule: CATALOG.get(reason.rule, "a rule of another version") for reason in reasons}


def _proving(grade: Grade) -> list[int]:
    """Return the messages that reasons, signals from people and claims point to."""
    wanted = {index for reason in grade.reasons for index in reason.messages}
    wanted |= {signal.index for signal in grade.signals_from_people}
    wanted |= {index for claim in grade.claims for index in (claim.index, *claim.evidence)}
    return sorted(wanted)


def _above(value: float, others: Sequence[float]) -> float | None:
    """Return the share of values below this one, equal ones by half; None if they are too few to say."""
    if len(others) < FEWEST_SESSIONS:
        return None
    below, equal = sum([other < value for other in others]), sum([other == value for other in others])
    return (below + equal / 2) / len(others)


def _told_together(amounts: Iterable[tuple[str, float]]) -> dict[str, float]:
    """Return what features amount to under the names that people are told."""
    totals: dict[str, float] = {}
    for feature, amount in amounts:
        name = display_name(feature)
        totals[name] = totals.get(name, 0) + amount
    return totals
