"""Three scores of a session: how well tools were used, how good the answer looks, whether failures were got over."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from math import floor
from typing import Final

from grader_daemon.domain.analysis import Analysis
from grader_daemon.domain.grade import Grade, Reason
from grader_daemon.domain.phrases import holds_any
from grader_daemon.domain.rules import EfficiencyRules, QualityRules

SENTENCES: Final = {
    "efficiency.level": "error rate and number of tool calls are low enough for this score",
    "efficiency.otherwise": "error rate or number of tool calls is too high for a better score",
    "quality.base": "every answer starts with this score",
    "quality.long_answer": "the final answer is long",
    "quality.longer_answer": "the final answer is very long",
    "quality.code_block": "the final answer has a code block",
    "quality.link": "the final answer has a link or reference",
    "quality.repeated_errors": "several tool calls in a row failed",
    "quality.many_errors": "many tool calls failed",
    "quality.loop_risk": "failures in a row, or the number of calls, look like a loop",
    "recovery.no_failures": "no tool call failed",
    "recovery.recovered": "a tool call worked after the last failure, and the session ended in an answer",
    "recovery.not_recovered": "no tool call worked after the last failure, or the session ended without an answer",
}
"""Meaning of each rule of these scores; `why` prints these, `docs/grades.md` lists them."""

_EFFICIENCY: Final = "tool_calls_efficient"
_QUALITY: Final = "response_quality"
_RECOVERY: Final = "errors_recovered"
_MANY: Final = "quality.many_errors"
_EFFECTS: Final = {
    "quality.base": "base",
    "quality.long_answer": "long_effect",
    "quality.longer_answer": "longer_effect",
    "quality.code_block": "code_effect",
    "quality.link": "link_effect",
    "quality.repeated_errors": "repeated_errors_effect",
    _MANY: "many_errors_effect",
    "quality.loop_risk": "loop_risk_effect",
}
"""Rules of the quality, in the order in which they speak, and the names of their effects."""

_PLACES: Final = {rule: place for place, rule in enumerate(_EFFECTS)}
_Noticed = tuple[str, tuple[int, ...]]
"""A rule that applies, and the messages that show it."""

_NO_FAILURES = Reason(_RECOVERY, "recovery.no_failures", None)


def grade_efficiency(facts: Analysis | Grade, rules: EfficiencyRules) -> tuple[int, Reason]:
    """Return the score of the first level whose limits are kept, 1 to 5."""
    failing = facts.error_indexes
    error_rate, tool_calls = facts.error_rate, facts.tool_calls
    for level in rules.levels:
        if error_rate <= level.error_rate and (level.tool_calls is None or tool_calls <= level.tool_calls):
            return level.score, Reason(_EFFICIENCY, "efficiency.level", float(level.score), failing)
    return rules.otherwise, Reason(_EFFICIENCY, "efficiency.otherwise", float(rules.otherwise), failing)


def grade_quality(analysis: Analysis, rules: QualityRules) -> tuple[int, list[Reason]]:
    """Return the sum of all effects, clamped to 1-5 and then rounded half up."""
    noticed: list[_Noticed] = [("quality.base", ())]
    if analysis.final_answer:
        noticed += _praised(analysis, rules)
    if analysis.failures or analysis.loop_index is not None:
        noticed += _blamed(analysis, rules)
    return _weigh(noticed, rules)


def regrade_quality(grade: Grade, rules: QualityRules) -> tuple[int, list[Reason]]:
    """Return what `grade_quality` gives for the session of a grade, whose reasons say what was noticed in it."""
    of_quality = [(reason.rule, reason.messages) for reason in grade.reasons if reason.score == _QUALITY]
    noticed = [each for each in of_quality if each[0] != _MANY]
    noticed += _many(grade.error_indexes, rules)
    return _weigh(sorted(noticed, key=lambda each: _PLACES[each[0]]), rules)


def _weigh(noticed: Iterable[_Noticed], rules: QualityRules) -> tuple[int, list[Reason]]:
    reasons = [Reason(_QUALITY, rule, getattr(rules, _EFFECTS[rule]), messages) for rule, messages in noticed]
    total = sum([reason.effect or 0 for reason in reasons])
    return floor(min(5.0, max(1.0, total)) + 0.5), reasons


def _praised(analysis: Analysis, rules: QualityRules) -> Iterator[_Noticed]:
    answer = analysis.final_answer
    where = analysis.answer_indexes
    if len(answer) > rules.long_characters:
        yield "quality.long_answer", where
    if len(answer) > rules.longer_characters:
        yield "quality.longer_answer", where
    if holds_any(answer, rules.code_markers):
        yield "quality.code_block", where
    if holds_any(answer, rules.link_markers):
        yield "quality.link", where


def _blamed(analysis: Analysis, rules: QualityRules) -> Iterator[_Noticed]:
    failing = analysis.error_indexes
    if analysis.had_repeated_errors:
        yield "quality.repeated_errors", failing
    yield from _many(failing, rules)
    if analysis.loop_index is not None:
        yield "quality.loop_risk", (analysis.loop_index,)


def _many(failing: tuple[int, ...], rules: QualityRules) -> list[_Noticed]:
    return [(_MANY, failing)] if len(failing) > rules.many_errors else []


def grade_recovery(analysis: Analysis) -> tuple[bool, Reason]:
    """Recovered: no error at all, or a success after the last one and an answer at the end."""
    errors = analysis.errors
    if not errors:
        return True, _NO_FAILURES
    last = errors[-1].index
    if analysis.errors_recovered and analysis.recovery_index is not None:
        return True, Reason(_RECOVERY, "recovery.recovered", None, (last, analysis.recovery_index))
    return False, Reason(_RECOVERY, "recovery.not_recovered", None, (last,))
