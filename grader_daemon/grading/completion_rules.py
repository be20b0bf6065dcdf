"""Rules for the completion of a task: signs for and against it in the answer's words, its claims, the error rate."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from grader_daemon.domain.analysis import Analysis, SessionState
from grader_daemon.domain.claims import Claim, ClaimKind, Support
from grader_daemon.domain.grade import Grade, Reason
from grader_daemon.domain.people import ACCEPTING, OBJECTING, PersonSignal
from grader_daemon.domain.phrases import Phrases, uncontracted
from grader_daemon.domain.rules import CompletionRules
from grader_daemon.domain.session_result import CheckResult, EndingKind
from grader_daemon.domain.verdict import Shown

SENTENCES: Final = {
    "completion.phrase": "the final answer says that the task is done",
    "completion.output_reference": "the final answer refers to a result it produced",
    "completion.failure_phrase": "the final answer says that something failed",
    "completion.verified_claim": "tests that passed after the last change prove a claim of the final answer",
    "completion.contradicted_claim": "tool calls contradict a claim of the final answer",
    "completion.low_error_rate": "errors are a low share of the agent's messages",
    "completion.high_error_rate": "errors are a high share of the agent's messages",
    "completion.short_answer": "the final answer is empty or very short",
    "completion.accepted": "a person's last comment on the work is thanks or acceptance",
    "completion.complaint": "a person's last comment is a complaint, a correction, giving up or an undo",
    "completion.cut_short": "an error, a limit or the end of the agent's process cut the session short: not done",
    "completion.error_last": "the session ends in a tool call that failed: not done",
    "completion.check_failed": "no test passed in the last run, and nothing changed after it: not done",
    "completion.gave_up": "the final answer says that the task could not be done: not done",
    "completion.interrupted": "the session was interrupted; an earlier version graded it without recording the cause",
    "completion.left": "a person stopped the session, or it was left in the middle: unsure",
    "completion.model": "the trained model gives the verdict, by its probability that the task is done",
}
"""Meaning of each rule of completion, in the order in which they speak; `why` prints these, `docs/grades.md` lists."""

_SCORE = "task_completed"
_PLACES: Final = {rule: place for place, rule in enumerate(SENTENCES)}
_CONTRADICTED: Final = "completion.contradicted_claim"
_TELLING: Final = frozenset({ClaimKind.TESTS_PASSED, ClaimKind.BUG_FIXED})
"""Claims whose support by the record says something of the task: 55 and 57 % of such labelled sessions are done where
27 and 14 % of all of their sources are; of a written file 49 where 41 are.
"""

_PROOFS: Final = frozenset(
    {"completion.cut_short", "completion.error_last", "completion.check_failed", "completion.gave_up", _CONTRADICTED}
)
"""Rules that prove by the record that a task was not done; how many were not is in `docs/validity.md`."""

_LEFT: Final = frozenset({"completion.left", "completion.interrupted"})
"""The second is of grades of earlier versions, which did not tell who interrupted a session."""

_BY_FACTS: Final = frozenset(
    {"completion.verified_claim", _CONTRADICTED, "completion.low_error_rate", "completion.high_error_rate"}
)
"""Rules that are followed by claims and error rate, which are kept of each session."""

_LOW_ERROR_RATE = Reason(_SCORE, "completion.low_error_rate", 1.0)
_CLAUSE_END = re.compile(r"[.;:!?,()\n\u2013\u2014]")
_WORD = re.compile(r"\w+")


class RuleClassifier:
    """Classifies sessions as completed or not, under one set of rules."""

    def __init__(self, rules: CompletionRules) -> None:
        self._rules = rules
        self._phrases = [
            ("completion.phrase", 1.0, _without_label(rules.completion_phrases)),
            ("completion.output_reference", 1.0, _without_label(rules.output_phrases)),
            ("completion.failure_phrase", -1.0, _without_label(rules.failure_phrases)),
        ]

    def classify(self, analysis: Analysis) -> tuple[bool, list[Reason]]:
        """Return the verdict and every sign that was seen. What the record shows stands above all other signs."""
        reasons = self._signs(analysis)
        if analysis.state is not SessionState.OPEN:
            reasons += _of_record(analysis)
        return _is_completed(reasons), reasons

    def reclassify(self, grade: Grade) -> tuple[bool, list[Reason]]:
        """Return what `classify` gives for the session of a grade, whose reasons say what its texts said."""
        reasons = [each for each in grade.reasons if each.score == _SCORE and each.rule not in _BY_FACTS]
        reasons = [each for each in reasons if each.rule != "completion.model"] + self._by_facts(grade)
        reasons.sort(key=lambda each: _PLACES[each.rule])
        return _is_completed(reasons), reasons

    def _signs(self, analysis: Analysis) -> list[Reason]:
        rules = self._rules
        answer = analysis.final_answer
        where = analysis.answer_indexes
        reasons = []
        if answer:
            text = uncontracted(answer.lower())
            reasons += [
                Reason(_SCORE, rule, effect, where) for rule, effect, said in self._phrases if self._is_said(said, text)
            ]
        reasons += self._by_facts(analysis)
        if len(answer) < rules.short_answer_characters:
            reasons.append(Reason(_SCORE, "completion.short_answer", -1.0, where))
        if analysis.signals_from_people:
            reasons += _last_word(analysis.signals_from_people[-1])
        return reasons

    def _by_facts(self, facts: Analysis | Grade) -> list[Reason]:
        rules = self._rules
        reasons = list(self._weighed(facts.claims)) if facts.claims else []
        error_rate = facts.error_rate
        if error_rate <= rules.low_error_rate:
            reasons.append(_LOW_ERROR_RATE)
        if error_rate > rules.high_error_rate:
            reasons.append(Reason(_SCORE, "completion.high_error_rate", -1.0, facts.error_indexes))
        return reasons

    def _weighed(self, claims: tuple[Claim, ...]) -> Iterator[Reason]:
        """Yield what the claims of the final answer say when they are held against the record, each verdict once."""
        rules = self._rules
        for support, rule, effect in (
            (Support.VERIFIED, "completion.verified_claim", rules.verified_claim_effect),
            (Support.CONTRADICTED, _CONTRADICTED, rules.contradicted_claim_effect),
        ):
            found = [claim for claim in claims if claim.support is support and _tells(claim)]
            if found and effect:
                messages = {index for claim in found for index in (claim.index, *claim.evidence)}
                yield Reason(_SCORE, rule, effect, tuple(sorted(messages)))

    def _is_said(self, phrases: Phrases[None], text: str) -> bool:
        """Return whether one of some phrases is said, and not denied in the words before it."""
        return any(not self._is_negated(text, start) for start, _ in phrases.occurrences(text))

    def _is_negated(self, text: str, start: int) -> bool:
        clause = _CLAUSE_END.split(text[max(0, start - 80) : start])[-1]
        reach = self._rules.negation_reach_words
        return not self._rules.negations.isdisjoint(_WORD.findall(clause)[-reach:]) if reach else False


def _tells(claim: Claim) -> bool:
    """Return whether a verdict on a claim says something of the task; a written file or a sent mail says too little."""
    return claim.support is not Support.VERIFIED or claim.kind in _TELLING


def shown_by(reasons: Iterable[Reason]) -> Shown:
    """Return what the record says of a session by itself, told by the rules that spoke."""
    rules = {reason.rule for reason in reasons}
    if not rules.isdisjoint(_PROOFS):
        return Shown.NOT_DONE
    return Shown.UNDECIDED if rules.isdisjoint(_LEFT) else Shown.NOTHING


def _is_completed(reasons: Sequence[Reason]) -> bool:
    return sum([reason.effect or 0 for reason in reasons]) > 0 and shown_by(reasons) is Shown.UNDECIDED


def _of_record(analysis: Analysis) -> Iterator[Reason]:
    """Yield what proves that the task was not done, and what leaves it open for ever."""
    is_interrupted = analysis.state is SessionState.INTERRUPTED
    check = analysis.check
    if check is not None and check.result is CheckResult.ALL_FAILED:
        yield Reason(_SCORE, "completion.check_failed", None, (check.index,))
    if analysis.ending is EndingKind.GAVE_UP:
        yield Reason(_SCORE, "completion.gave_up", None, analysis.answer_indexes)
    if analysis.cut_short:
        yield Reason(_SCORE, "completion.cut_short", None, analysis.answer_indexes)
    elif is_interrupted and analysis.error_last:
        yield Reason(_SCORE, "completion.error_last", None, (analysis.failures[-1].index,))
    elif is_interrupted:
        yield Reason(_SCORE, "completion.left", None, analysis.answer_indexes)


def _without_label(phrases: Iterable[str]) -> Phrases[None]:
    return Phrases((phrase, None) for phrase in phrases)


def _last_word(signal: PersonSignal) -> list[Reason]:
    """Return the reason that a person's last signal is; the same request again is none."""
    if signal.kind in ACCEPTING:
        return [Reason(_SCORE, "completion.accepted", 1.0, (signal.index,))]
    if signal.kind in OBJECTING:
        return [Reason(_SCORE, "completion.complaint", -1.0, (signal.index,))]
    return []
