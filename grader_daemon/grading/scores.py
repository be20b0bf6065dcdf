"""Three scores of a session: how well tools were used, how good the answer looks, whether failures were got over."""

from __future__ import annotations

from collections.abc import Iterator
from math import floor
from typing import Final

from grader_daemon.domain.analysis import Analysis
from grader_daemon.domain.grade import Reason
from grader_daemon.domain.phrases import holds_any
from grader_daemon.domain.rules import EfficiencyRules, QualityRules

SENTENCES: Final = {
    "efficiency.level": "error rate and number of tool calls are within this level's limits",
    "efficiency.otherwise": "error rate or number of tool calls are beyond every level",
    "quality.base": "every answer starts here",
    "quality.long_answer": "the final answer is long",
    "quality.longer_answer": "the final answer is very long",
    "quality.code_block": "the final answer holds a code block",
    "quality.link": "the final answer holds a link or reference",
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
_NO_FAILURES = Reason(_RECOVERY, "recovery.no_failures", None)


def grade_efficiency(analysis: Analysis, rules: EfficiencyRules) -> tuple[int, Reason]:
    """Return the score of the first level whose limits are kept, 1 to 5."""
    failing = analysis.error_indexes
    error_rate, tool_calls = analysis.error_rate, analysis.tool_calls
    for level in rules.levels:
        if error_rate <= level.error_rate and (level.tool_calls is None or tool_calls <= level.tool_calls):
            return level.score, Reason(_EFFICIENCY, "efficiency.level", float(level.score), failing)
    return rules.otherwise, Reason(_EFFICIENCY, "efficiency.otherwise", float(rules.otherwise), failing)


def grade_quality(analysis: Analysis, rules: QualityRules) -> tuple[int, list[Reason]]:
    """Return the sum of all effects, clamped to 1-5 and then rounded half up."""
    reasons = [Reason(_QUALITY, "quality.base", rules.base)]
    if analysis.final_answer:
        reasons += _credits(analysis, rules)
    if analysis.failures or analysis.loop_index is not None:
        reasons += _debits(analysis, rules)
    total = sum([reason.effect or 0 for reason in reasons])
    return floor(min(5.0, max(1.0, total)) + 0.5), reasons


def _credits(analysis: Analysis, rules: QualityRules) -> Iterator[Reason]:
    answer = analysis.final_answer
    where = analysis.answer_indexes
    if len(answer) > rules.long_characters:
        yield Reason(_QUALITY, "quality.long_answer", rules.long_effect, where)
    if len(answer) > rules.longer_characters:
        yield Reason(_QUALITY, "quality.longer_answer", rules.longer_effect, where)
    if holds_any(answer, rules.code_markers):
        yield Reason(_QUALITY, "quality.code_block", rules.code_effect, where)
    if holds_any(answer, rules.link_markers):
        yield Reason(_QUALITY, "quality.link", rules.link_effect, where)


def _debits(analysis: Analysis, rules: QualityRules) -> Iterator[Reason]:
    failing = analysis.error_indexes
    if analysis.had_repeated_errors:
        yield Reason(_QUALITY, "quality.repeated_errors", rules.repeated_errors_effect, failing)
    if len(failing) > rules.many_errors:
        yield Reason(_QUALITY, "quality.many_errors", rules.many_errors_effect, failing)
    if analysis.loop_index is not None:
        yield Reason(_QUALITY, "quality.loop_risk", rules.loop_risk_effect, (analysis.loop_index,))


def grade_recovery(analysis: Analysis) -> tuple[bool, Reason]:
    """Recovered: no error at all, or a success after the last one and an answer at the end."""
    errors = analysis.errors
    if not errors:
        return True, _NO_FAILURES
    last = errors[-1].index
    if analysis.errors_recovered and analysis.recovery_index is not None:
        return True, Reason(_RECOVERY, "recovery.recovered", None, (last, analysis.recovery_index))
    return False, Reason(_RECOVERY, "recovery.not_recovered", None, (last,))
