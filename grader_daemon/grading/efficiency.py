"""How well were tools used? By error rate and number of calls, against a table of levels."""

from __future__ import annotations

from grader_daemon.domain.analysis import Analysis
from grader_daemon.domain.grade import Reason
from grader_daemon.domain.rules import EfficiencyRules

_SCORE = "tool_calls_efficient"


def grade_efficiency(analysis: Analysis, rules: EfficiencyRules) -> tuple[int, Reason]:
    """Return the score of the first level whose limits are kept, 1 to 5."""
    failing = tuple([error.index for error in analysis.errors])
    error_rate, tool_calls = analysis.error_rate, analysis.tool_calls
    for level in rules.levels:
        if error_rate <= level.error_rate and (level.tool_calls is None or tool_calls <= level.tool_calls):
            return level.score, Reason(_SCORE, "efficiency.level", float(level.score), failing)
    return rules.otherwise, Reason(_SCORE, "efficiency.otherwise", float(rules.otherwise), failing)
