"""All scores of one session, gathered into its grade."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, tzinfo
from operator import attrgetter
from typing import Final

import msgspec

from grader_daemon.domain.analysis import Analysis, SessionState
from grader_daemon.domain.calendar import day_of
from grader_daemon.domain.feedback import automatic, keep_override
from grader_daemon.domain.grade import BY_AGENT, Grade, Reason
from grader_daemon.domain.rules import Rules
from grader_daemon.domain.session import TOKEN_NAMES, Session, total_usage
from grader_daemon.domain.session_features import NO_FEATURES
from grader_daemon.domain.verdict import CompletionPolicy, Decision, GradeVersion, VerdictBy, is_of_same_facts
from grader_daemon.grading.completion_rules import RuleClassifier, shown_by
from grader_daemon.grading.scores import grade_efficiency, grade_quality, grade_recovery, regrade_quality
from grader_daemon.grading.standing import evidence_of

_BY_MODEL = Reason("task_completed", "completion.model", None)
_OPEN: Final = SessionState.OPEN
_RESCORED: Final = frozenset({"task_completed", "tool_calls_efficient", "response_quality"})
_JUDGED: Final = frozenset({"ending", "errors_recovered", "features"})
"""Names that a grade shares with an analysis or a session, and that grading fills."""

_OF_SESSION: Final = tuple(name for name in Grade.__struct_fields__ if hasattr(Session, name) and name not in _JUDGED)
_OF_ANALYSIS: Final = tuple(name for name in Grade.__struct_fields__ if hasattr(Analysis, name) and name not in _JUDGED)
"""Facts that a grade takes over as they are, by their names: who adds a fact to both need not touch this room."""

_CARRIED: Final = (*_OF_SESSION, *_OF_ANALYSIS, *TOKEN_NAMES)
_of_session: Final = attrgetter(*_OF_SESSION)
_of_analysis: Final = attrgetter(*_OF_ANALYSIS)
_of_usage: Final = attrgetter(*TOKEN_NAMES)


class Grader:
    """Grades analysed sessions under one set of rules and one policy; safe to share among threads."""

    def __init__(self, rules: Rules, policy: CompletionPolicy, *, zone: tzinfo | None) -> None:
        """`zone` is where days begin; None means the machine's."""
        self._rules = rules
        self._policy = policy
        self.version = f"{rules.version}+{policy.version}"
        self._zone = zone
        self._classifier = RuleClassifier(rules.completion)

    def grade(self, session: Session, analysis: Analysis, *, now: datetime, written_at: datetime) -> Grade:
        """Grade one session.

        Args:
            session: what was read.
            analysis: what it shows.
            now: the moment of grading.
            written_at: last change of the file; stands in for a session's missing end.
        """
        by_rules, completion_reasons = self._classifier.classify(analysis)
        scored = analysis.tool_calls > 0 or analysis.spoke
        features = analysis.features if scored else NO_FEATURES
        decision = self._policy.decide(features, by_rules=by_rules, shown=shown_by(completion_reasons))
        efficiency, efficiency_reason = grade_efficiency(analysis, self._rules.efficiency)
        quality, quality_reasons = grade_quality(analysis, self._rules.quality)
        recovered, recovery_reason = grade_recovery(analysis)
        ending, standing, evidence = evidence_of(analysis, completion_reasons, messages=len(session.messages))
        errors = analysis.errors
        ended_at = session.updated_at or written_at
        carried = (*_of_session(session), *_of_analysis(analysis), *_of_usage(total_usage(session.usage)))
        return Grade(
            **dict(zip(_CARRIED, carried, strict=True)),
            session_file=session.file,
            graded_at=now,
            task_completed=decision.completed,
            tool_calls_efficient=efficiency,
            response_quality=quality,
            errors_recovered=recovered,
            session_start=session.started_at,
            error_types=tuple(dict.fromkeys([error.category for error in errors])),
            tools_with_errors=tuple(dict.fromkeys([error.tool for error in errors if error.tool])),
            ended_at=ended_at,
            ended_on=day_of(ended_at, self._zone).isoformat(),
            reasons=(
                *completion_reasons,
                *_of_model(decision),
                efficiency_reason,
                *quality_reasons,
                recovery_reason,
                *evidence,
            ),
            ending=ending,
            standing=standing,
            rules_version=self.version,
            p_completed=_likely(decision, analysis.state),
            verdict_by=decision.by,
            rules_completed=by_rules,
            features=features,
            scored=scored,
            unsure=scored and analysis.state is not _OPEN and decision.unsure,
            cost_by=None if session.cost_usd is None else BY_AGENT,
            undone=len(session.taken_back),
        )

    def redecide(self, grade: Grade) -> Grade:
        """Return the grade of a session that is not read again, judged anew from what is kept of it.

        Where other rules read it, what these said stays, and only the policy is followed.
        """
        bare = automatic(grade)
        made_by = GradeVersion.read(grade.rules_version).rules
        if made_by != self._rules.version and self._has_facts(grade):
            bare, made_by = self._rescored(bare), self._rules.version
        by_rules = bare.task_completed if bare.rules_completed is None else bare.rules_completed
        decision = self._policy.decide(bare.features, by_rules=by_rules, shown=shown_by(bare.reasons))
        rules_said = [reason for reason in bare.reasons if reason.rule != _BY_MODEL.rule]
        judged = msgspec.structs.replace(
            bare,
            task_completed=decision.completed,
            p_completed=_likely(decision, bare.state),
            verdict_by=decision.by,
            reasons=tuple(_with_model(rules_said, decision)),
            rules_version=f"{made_by}+{self._policy.version}",
            unsure=bare.scored and bare.state is not _OPEN and decision.unsure,
        )
        return keep_override(judged, grade)

    def _has_facts(self, grade: Grade) -> bool:
        """Return whether what is kept of a session is all that these rules ask of one that was read for them."""
        return is_of_same_facts(grade.rules_version, self.version) and len(grade.errors) == grade.total_errors

    def _rescored(self, grade: Grade) -> Grade:
        """Return a grade of which people said nothing, with what these rules say of its session."""
        by_rules, completion_reasons = self._classifier.reclassify(grade)
        efficiency, efficiency_reason = grade_efficiency(grade, self._rules.efficiency)
        quality, quality_reasons = regrade_quality(grade, self._rules.quality)
        others = [reason for reason in grade.reasons if reason.score not in _RESCORED]
        return msgspec.structs.replace(
            grade,
            rules_completed=by_rules,
            tool_calls_efficient=efficiency,
            response_quality=quality,
            reasons=(*completion_reasons, efficiency_reason, *quality_reasons, *others),
        )


def _with_model(reasons: Sequence[Reason], decision: Decision) -> Sequence[Reason]:
    """Add the model's word, if it decides, behind what the rules said of completion."""
    count = next((n for n, reason in enumerate(reasons) if reason.score != _BY_MODEL.score), len(reasons))
    return [*reasons[:count], *_of_model(decision), *reasons[count:]]


def _likely(decision: Decision, state: SessionState) -> float | None:
    """Return the probability of the model; none of a session that was cut short, which nobody need guess at."""
    is_cut_short = state is SessionState.INTERRUPTED and not decision.unsure
    return None if is_cut_short else decision.likely


def _of_model(decision: Decision) -> tuple[Reason, ...]:
    return (_BY_MODEL,) if decision.by is VerdictBy.MODEL else ()
