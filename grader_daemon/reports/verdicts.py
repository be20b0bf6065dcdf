"""The verdict on a session in one sentence: the outcome, how likely, who says so, and how far that can be trusted.

Every display takes it from here, so that all say the same.
"""

from __future__ import annotations

from typing import Final

from grader_daemon.domain.analysis import SessionState
from grader_daemon.domain.calibration import Trust
from grader_daemon.domain.feedback import automatic
from grader_daemon.domain.grade import Grade
from grader_daemon.domain.verdict import GradeVersion, Outcome, VerdictBy
from grader_daemon.reports.numbers import MINUS, count

NOTHING_TO_JUDGE: Final = "no answer: there is neither an answer nor a tool call to judge"
_DEGREES: Final = ((0.8, "very well"), (0.6, "well"), (0.4, "fairly well"), (0.2, "little"))
"""From which correlation on which word is said: the steps of Landis and Koch (1977) for agreement."""

UNSURE_NOTE: Final = "An unsure verdict would be wrong more than two times in five, or the model has no idea."


def outcome_words(outcome: Outcome) -> str:
    """Return an outcome as it is said: "not done"."""
    return outcome.replace("_", " ")


def brief_verdict(grade: Grade) -> str:
    """Return the verdict for a table: "not done*"; the star says that it is a person's word."""
    mark = "*" if grade.verdict_by is VerdictBy.PERSON else ""
    return f"{outcome_words(grade.outcome)}{mark}{' (open)' if grade.state is SessionState.OPEN else ''}"


def verdict_words(grade: Grade, trust: Trust, *, said: str | None = None) -> str:
    """Return the verdict as a sentence; `said` tells of a person's word or a reward: by whom and when."""
    if grade.verdict_by.is_automatic:
        return "; ".join([_automatically(grade, trust), *_trusted(grade, trust)])
    if said is None:
        said = "said by a person" if grade.verdict_by is VerdictBy.PERSON else "by the reward of its run"
    return f"{outcome_words(grade.outcome)}, {said}; automatically: {_automatically(automatic(grade), trust)}"


def trust_words(trust: Trust) -> str:
    """Return how far automatic verdicts can be trusted."""
    if trust.of_fleet:
        return "each machine has its own, and says there how far it can be trusted"
    if not trust.labels:
        elsewhere = "how far such verdicts agree with the truth is not known"
        if trust.agreement is not None:
            elsewhere = f"elsewhere such verdicts agreed {_degree(trust.agreement, of=' with the truth')}"
        return f"not calibrated for you; {elsewhere}"
    done = "calibrated on" if trust.by is VerdictBy.MODEL else "checked by"
    known = "" if trust.agreement is None else f", with which such verdicts agree {_degree(trust.agreement)}"
    return f"{done} your {count(trust.labels, 'label')}{known}"


def unsure_words(completed: int | None) -> str:
    """Return how many sessions count as completed by an unsure verdict, behind `trust_words`; nothing without any."""
    if not completed:
        return ""
    return f"; {completed:,} of those that count as done {'is' if completed == 1 else 'are'} unsure"


def _degree(agreement: float, *, of: str = "") -> str:
    """Return a correlation of -1 to 1 in words, so that nobody takes it for a share of verdicts that are right."""
    word = next((word for least, word in _DEGREES if agreement >= least), "hardly at all")
    return f"{word}{of} (correlation {agreement:.2f} of 1)".replace("-", MINUS)


def _automatically(grade: Grade, trust: Trust) -> str:
    if grade.outcome is Outcome.NO_ANSWER:
        return NOTHING_TO_JUDGE
    word, likely = outcome_words(grade.outcome), grade.p_completed
    if grade.outcome is Outcome.UNSURE:
        word = f"unsure, counts as {'done' if grade.task_completed else 'not done'}"
    if likely is None and grade.unsure:
        return f"{word} by the rules: the model has no idea of it"
    if likely is None:
        return f"{word}, by the {grade.verdict_by}"
    if grade.verdict_by is VerdictBy.RULES:
        return f"{word}, by the rules (the model: probability {likely:.2f})"
    limit = "" if trust.threshold is None or not _is_of(grade, trust) else f", done from {trust.threshold:.2f} on"
    return f"{word}: probability {likely:.2f}{limit}, by the model"


def _trusted(grade: Grade, trust: Trust) -> tuple[str, ...]:
    is_told = grade.outcome is not Outcome.NO_ANSWER and grade.verdict_by is trust.by and _is_of(grade, trust)
    return (trust_words(trust),) if is_told else ()


def _is_of(grade: Grade, trust: Trust) -> bool:
    """Was the grade given by the policy that is in force, of which `trust` speaks?"""
    return GradeVersion.read(grade.rules_version).policy == trust.version
