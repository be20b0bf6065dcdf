"""How good does the final answer look? Length, code and links for it; errors in a row, many errors, loops against."""

from __future__ import annotations

from math import floor

from grader_daemon.domain.analysis import Analysis
from grader_daemon.domain.grade import Reason
from grader_daemon.domain.phrases import holds_any
from grader_daemon.domain.rules import QualityRules

_SCORE = "response_quality"


def grade_quality(analysis: Analysis, rules: QualityRules) -> tuple[int, list[Reason]]:
    """Return the sum of all effects, clamped to 1-5 and then rounded half up."""
    reasons = [Reason(_SCORE, "quality.base", rules.base)]
    if analysis.final_answer:
        reasons += _credits(analysis, rules)
    if analysis.failures or analysis.loop_index is not None:
        reasons += _debits(analysis, rules)
    total = sum([reason.effect or 0 for reason in reasons])
    return floor(min(5.0, max(1.0, total)) + 0.5), reasons


def _credits(analysis: Analysis, rules: QualityRules) -> list[Reason]:
    answer = analysis.final_answer
    where = () if analysis.final_index is None else (analysis.final_index,)
    reasons = []
    if len(answer) > rules.long_characters:
        reasons.append(Reason(_SCORE, "quality.long_answer", rules.long_effect, where))
    if len(answer) > rules.longer_characters:
        reasons.append(Reason(_SCORE, "quality.longer_answer", rules.longer_effect, where))
    if holds_any(answer, rules.code_markers):
        reasons.append(Reason(_SCORE, "quality.code_block", rules.code_effect, where))
    if holds_any(answer, rules.link_markers):
        reasons.append(Reason(_SCORE, "quality.link", rules.link_effect, where))
    return reasons


def _debits(analysis: Analysis, rules: QualityRules) -> list[Reason]:
    failing = tuple([error.index for error in analysis.errors])
    reasons = []
    if analysis.had_repeated_errors:
        reasons.append(Reason(_SCORE, "quality.repeated_errors", rules.repeated_errors_effect, failing))
    if analysis.total_errors > rules.many_errors:
        reasons.append(Reason(_SCORE, "quality.many_errors", rules.many_errors_effect, failing))
    if analysis.loop_index is not None:
        reasons.append(Reason(_SCORE, "quality.loop_risk", rules.loop_risk_effect, (analysis.loop_index,)))
    return reasons
