"""The verdict on a session in one sentence: the outcome, how likely, who says so, and how far that can be trusted.

Every display takes it from here, so that all say the same.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from grader_daemon.domain.analysis import SessionState
from grader_daemon.domain.calibration import FEWEST_LABELS, GraderChange, Trust
from grader_daemon.domain.estimate import Estimate
from grader_daemon.domain.feedback import FEWEST_DRAWN, AnswerEffect, automatic
from grader_daemon.domain.grade import Grade
from grader_daemon.domain.text import count
from grader_daemon.domain.verdict import GradeVersion, Outcome, VerdictBy, VerdictCounts
from grader_daemon.reports.numbers import COMPLETION, MINUS, estimate_words, value_words

NOTHING_TO_JUDGE: Final = "no answer: there is neither an answer nor a tool call to judge"
_DEGREES: Final = ((0.8, "very well"), (0.6, "well"), (0.4, "fairly well"), (0.2, "only a little"))
"""Words for correlations, each with its least value: the steps of Landis and Koch (1977) for agreement."""

NO_RATE: Final = "unknown: {drawn} of {needed} random sessions labelled"
_PROVEN: Final = {
    "completion.cut_short": "an error, a limit or the end of its process cut it short",
    "completion.error_last": "it ends in a tool call that failed",
    "completion.check_failed": "the last check failed",
    "completion.gave_up": "its answer says that it could not be done",
    "completion.contradicted_claim": "the record contradicts what the answer claims",
}
"""Proofs that a task was not done, by the rule that says so."""
_SAID_BY: Final = {VerdictBy.REWARD: "by the run's external check", VerdictBy.REVERT: "reverted in git"}


def outcome_words(outcome: Outcome) -> str:
    """Return an outcome as it is said: "not done"."""
    return outcome.replace("_", " ")


def brief_verdict(grade: Grade) -> str:
    """Return the verdict for a table: "not done*"; the star says that it is a person's word."""
    return f"{outcome_words(grade.outcome)}{'*' if grade.verdict_by is VerdictBy.PERSON else ''}"


def likely_done(grade: Grade) -> str | None:
    """Return the probability for a table, "46 %"; None where a label, a reward, git or a proof says what came of it."""
    if grade.p_completed is None or not grade.verdict_by.is_automatic or _proof_of(grade) is not None:
        return None
    return _percent(grade.p_completed)


def shares_words(counts: VerdictCounts) -> str:
    """Return how many sessions have which verdict: "7 done, 42 not done, 210 unsure"."""
    return f"{counts.done:,} done, {counts.not_done:,} not done, {counts.unsure:,} unsure"


def rate_words(checked: Estimate) -> str:
    """Return the rate of completion put right by labels, or what it takes to know one."""
    if checked.sample >= FEWEST_DRAWN and checked.value is not None:
        return known_rate_words(checked)
    minutes = " (4 minutes)" if checked.value is None else ""
    return f"{known_rate_words(checked)}; next: grader-daemon label{minutes}"


def known_rate_words(checked: Estimate) -> str:
    """Return the rate of completion put right by labels, without what to do where labels are too few."""
    if checked.value is None:
        return NO_RATE.format(drawn=checked.sample, needed=FEWEST_DRAWN)
    told = f"{estimate_words(checked, COMPLETION)} done"
    if checked.sample >= FEWEST_DRAWN:
        return f"{told}, by {count(checked.sample, 'random label')}"
    by = f" and {count(checked.sample, 'random label')}" if checked.sample else ""
    return f"{told}, from your guess{by}"


def effect_of_answer(effect: AnswerEffect) -> tuple[str, str]:
    """Return what an answer changed: the verdict on its session, and the completion rate with its range."""
    before, now = outcome_words(effect.verdict_before), outcome_words(effect.verdict)
    moved = (
        f"This verdict stays {now}"
        if before == now
        else f"1 verdict moved, this one: {before} \N{RIGHTWARDS ARROW} {now}"
    )
    rate = f"Last {effect.days} days: {known_rate_words(effect.rate)}"
    if effect.rate.value is not None and effect.rate_before.value is not None:
        rate += f"; without your answer {estimate_words(effect.rate_before, COMPLETION)}"
    return f"{moved}.", f"{rate}."


def verdict_words(grade: Grade, trust: Trust, *, said: str | None = None) -> str:
    """Return the verdict as a sentence that ends in how far it can be trusted; `said` is that of `plain_verdict`."""
    told = plain_verdict(grade, said=said)
    return "; ".join([told, *_trusted(grade, trust)]) if grade.verdict_by.is_automatic else told


def told_of(likely: float | None, rules: Iterable[str]) -> tuple[str | None, str | None]:
    """Return all that a verdict's sentence tells of a probability and of the rules that gave reasons, in their order.

    Grades that are alike in this, in state, version, and all that labels and verdicts hold, have the same sentence.
    """
    return None if likely is None else _percent(likely), _proof(rules)


def plain_verdict(grade: Grade, *, said: str | None = None) -> str:
    """Return the verdict as a sentence; `said` tells of a label, a reward or a revert: by whom and when."""
    if grade.verdict_by.is_automatic:
        return _automatically(grade)
    if said is None:
        said = _SAID_BY.get(grade.verdict_by, "labelled by a person")
    return f"{outcome_words(grade.outcome)} ({said}). The grader said: {_automatically(automatic(grade))}"


def grader_words(change: GraderChange) -> str:
    """Return when the grader changed and by what, and how the week before read then and reads now."""
    why = f"by {count(change.labels, 'label')}" if change.labels else change.why
    now = "" if change.now is None else f"; now: {shares_words(change.now)}"
    return f"{change.at:%Y-%m-%d} ({why}). Verdicts on the 7 days before, then: {shares_words(change.before)}{now}"


def grader_name(by: VerdictBy) -> str:
    """Return what gives verdicts, as it is said: "rules", "trained model"."""
    return "trained model" if by is VerdictBy.MODEL else by.value


def trust_words(trust: Trust) -> str:
    """Return how far automatic verdicts can be trusted."""
    if trust.of_fleet:
        return "given by each machine, which shows how reliable they are"
    if not trust.labels:
        return f"not yet checked: label {FEWEST_LABELS} sessions"
    done = "calibrated on" if trust.by is VerdictBy.MODEL else "checked by"
    known = "" if trust.agreement is None else f"; verdicts agree with them {_degree(trust.agreement)}"
    return f"{done} your {count(trust.labels, 'label')}{known}"


def _degree(agreement: float) -> str:
    """Return a correlation of -1 to 1 in words, so that nobody takes it for a share of verdicts that are right."""
    word = next((word for least, word in _DEGREES if agreement >= least), "hardly at all")
    return f"{word} (correlation {agreement:.2f} of 1)".replace("-", MINUS)


def _automatically(grade: Grade) -> str:
    outcome = grade.outcome
    if outcome is Outcome.NO_ANSWER:
        return NOTHING_TO_JUDGE
    if outcome is Outcome.UNSURE:
        return _unsure(grade)
    word, likely = outcome_words(outcome), grade.p_completed
    proof = _proof_of(grade)
    if proof is not None:
        return f"{word}: {proof}"
    if likely is None or grade.verdict_by is VerdictBy.RULES:
        return f"{word}, by the {grade.verdict_by}"
    return f"{word} ({_percent(likely)} likely done)"


def _proof_of(grade: Grade) -> str | None:
    return _proof(reason.rule for reason in grade.reasons)


def _proof(rules: Iterable[str]) -> str | None:
    return next((_PROVEN[rule] for rule in rules if rule in _PROVEN), None)


def _unsure(grade: Grade) -> str:
    if grade.state is SessionState.OPEN:
        return "unsure: the session is still open"
    if grade.state is SessionState.INTERRUPTED:
        return "unsure: the session was stopped, or ends in the middle"
    if grade.p_completed is None:
        return "unsure: the grader has no probability"
    return f"unsure ({_percent(grade.p_completed)} likely done)"


def _percent(likely: float) -> str:
    return value_words(likely, COMPLETION)


def _trusted(grade: Grade, trust: Trust) -> tuple[str, ...]:
    is_told = grade.verdict_by is trust.by and _is_of(grade, trust) and grade.outcome is not Outcome.NO_ANSWER
    return (trust_words(trust),) if is_told else ()


def _is_of(grade: Grade, trust: Trust) -> bool:
    """Return whether the grade is by the policy in force, of which `trust` speaks."""
    return GradeVersion.read(grade.rules_version).policy == trust.version
