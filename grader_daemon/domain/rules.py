"""The rules of judgement as values: what `rules/rules.toml` says, checked and typed.

Every field is described beside its value in that file.
"""

from __future__ import annotations

from typing import Annotated, Final

import msgspec

from grader_daemon.domain.analysis import Category, Subcategory
from grader_daemon.domain.people import SignalKind
from grader_daemon.domain.rollup import Dimension, Metric

Count = Annotated[int, msgspec.Meta(ge=0)]
Rate = Annotated[float, msgspec.Meta(ge=0.0, le=1000.0)]
Effect = Annotated[float, msgspec.Meta(ge=-100.0, le=100.0)]
Score = Annotated[int, msgspec.Meta(ge=1, le=5)]
Positive = Annotated[int, msgspec.Meta(ge=1)]
Part = Annotated[float, msgspec.Meta(gt=0.0, le=1.0)]
InnerPart = Annotated[float, msgspec.Meta(gt=0.0, lt=1.0)]


class FailureRules(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Rules that tell failures among tool results, and their categories."""

    failing_statuses: frozenset[str]
    pending_statuses: frozenset[str]
    failing_prefixes: tuple[str, ...]
    not_executed_prefixes: tuple[str, ...]
    guarded_prefixes: tuple[str, ...]
    interrupted_exit_codes: frozenset[int]
    interrupted_prefixes: tuple[str, ...]
    harmless_meanings: tuple[str, ...]
    refusal_phrases: tuple[str, ...]
    examined_characters: Count
    exit_codes: dict[str, Category]
    categories: dict[Category, tuple[str, ...]]
    subcategories: dict[Subcategory, tuple[str, ...]]


class ErrorRunRules(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Limits on failures in a row and on calls, beyond which they are a bad sign."""

    repeated_errors: Count
    loop_errors: Count
    loop_api_calls: Count


class TailRules(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Rules that tell by its end that a session was cut short."""

    interrupted_finish_reasons: frozenset[str]
    interrupted_answers: tuple[str, ...]
    stopped_answers: tuple[str, ...]
    empty_answers: frozenset[str]
    iteration_limit_prompts: tuple[str, ...]


class SignalRules(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Words of one kind of signal: anywhere, first; where nothing was asked, first or as the whole first clause."""

    phrases: tuple[str, ...] = ()
    openings: tuple[str, ...] = ()
    unasked: tuple[str, ...] = ()
    alone: tuple[str, ...] = ()


class PeopleRules(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Rules for user messages: which are a person's, how the agent asks one, and what people say of its work."""

    injected_prefixes: tuple[str, ...]
    injected_endings: tuple[str, ...]
    sentinels: tuple[str, ...]
    output_beginnings: tuple[str, ...]
    clarification_tools: frozenset[str]
    question_endings: tuple[str, ...]
    summary_characters: Count
    unattended_platforms: frozenset[str]
    unattended_ids: tuple[str, ...]
    shortest_request_characters: Positive
    asked_again_hours: Count
    examined_characters: Count
    similar_words: Part
    fillers: tuple[str, ...]
    deniers: frozenset[str]
    not_signals: tuple[str, ...]
    consents: tuple[str, ...]
    signals: dict[SignalKind, SignalRules]


class RedactionRules(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Rules for what is redacted beside secrets."""

    emails: bool


GENERAL: Final = "general"
"""The task type of a request that says nothing about its kind."""


class TaskTypeRules(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Rules that tell the subject of a session by the words of the first request."""

    examined_characters: Count
    ignored_words: frozenset[str]
    keywords: dict[str, tuple[str, ...]]


class EfficiencyLevel(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A score, and what a session may have at most to earn it. None means: no limit."""

    score: Score
    error_rate: Rate
    tool_calls: Count | None = None


class EfficiencyRules(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Levels from best to worst; the first that a session keeps within gives the score, else `otherwise`."""

    levels: tuple[EfficiencyLevel, ...]
    otherwise: Score


class QualityRules(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Effects on the response quality of the final answer."""

    base: Effect
    long_characters: Count
    long_effect: Effect
    longer_characters: Count
    longer_effect: Effect
    code_markers: tuple[str, ...]
    code_effect: Effect
    link_markers: tuple[str, ...]
    link_effect: Effect
    repeated_errors_effect: Effect
    many_errors: Count
    many_errors_effect: Effect
    loop_risk_effect: Effect


class CompletionRules(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Signs for and against a completed task."""

    completion_phrases: tuple[str, ...]
    output_phrases: tuple[str, ...]
    failure_phrases: tuple[str, ...]
    negations: frozenset[str]
    negation_reach_words: Count
    low_error_rate: Rate
    high_error_rate: Rate
    short_answer_characters: Count
    verified_claim_effect: Effect
    contradicted_claim_effect: Effect


class EvidenceRules(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Words by which a final answer says that the task is not done, and questions that only end a talk."""

    gave_up_phrases: tuple[str, ...]
    admitted_phrases: tuple[str, ...]
    farewell_questions: tuple[str, ...]


class ThresholdRule(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A plain limit for a metric over the last days, on the metric's own scale.

    Rates are 0 to 1, efficiency and quality 1 to 5. `group` names one group of the dimension; None means each of them.
    """

    name: str
    metric: Metric
    dimension: Dimension = Dimension.OVERALL
    group: str | None = None
    below: float | None = None
    above: float | None = None
    clear: float
    days: Positive
    sessions: Positive

    def __post_init__(self) -> None:
        """Refuse what contradicts itself.

        Raises:
            ValueError: the limits do not fit each other, the metric or the dimension; the text is one line.
        """
        if (self.below is None) == (self.above is None):
            raise ValueError("expected either `below` or `above`")
        if self.dimension is Dimension.OVERALL and self.group is not None:
            raise ValueError("`group` needs a `dimension`")
        if not all(self._lowest <= value <= self._highest for value in (self.limit, self.clear)):
            raise ValueError(f"limits of {self.metric} are from {self._lowest:g} to {self._highest:g}")
        if self.below is not None and self.clear < self.below:
            raise ValueError("`clear` must not be less than `below`")
        if self.above is not None and self.clear > self.above:
            raise ValueError("`clear` must not be more than `above`")

    @property
    def limit(self) -> float:
        """The value beyond which it opens."""
        limit = self.above if self.below is None else self.below
        assert limit is not None
        return limit

    @property
    def _lowest(self) -> float:
        return 1.0 if self.metric.is_score else 0.0

    @property
    def _highest(self) -> float:
        return 5.0 if self.metric.is_score else 1.0


class AlertRules(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Rules for degraded quality, and the texts about it.

    A month counts as one of `fewest_a_month` sessions at least, for of few a false-alarm rate by sessions means little.
    Where no more than `lone_a_month` sessions come in a month, each has a day of its own, and days are not alike.
    """

    baseline_days: Positive
    baseline_sessions: Positive
    arming_sessions: Positive
    drops: Annotated[tuple[Part, ...], msgspec.Meta(min_length=1, max_length=8)]
    months_per_false_alarm: Positive
    overall_part: InnerPart
    endings_part: InnerPart
    jobs_part: InnerPart
    job_runs: Positive
    job_drops: Annotated[tuple[Part, ...], msgspec.Meta(min_length=1, max_length=8)]
    months_per_false_recovery: Positive
    critical_rate_drop: Part
    critical_score_drop: Annotated[float, msgspec.Meta(gt=0.0, le=4.0)]
    share_change: Part
    streams: Positive
    forget_days: Positive
    thresholds: tuple[ThresholdRule, ...]
    fewest_a_month: float = 100.0
    lone_a_month: float = 0.0

    def __post_init__(self) -> None:
        """Refuse what cannot be told apart.

        Raises:
            ValueError: two thresholds have one name; the text is one line.
        """
        names = [rule.name for rule in self.thresholds]
        for name in names:
            if names.count(name) > 1:
                raise ValueError(f"two `thresholds` are named {name!r}")


class Rules(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One complete ruleset. `version` is a hash of its content: equal versions grade equally."""

    version: str
    failures: FailureRules
    error_runs: ErrorRunRules
    tail: TailRules
    people: PeopleRules
    redaction: RedactionRules
    task_types: TaskTypeRules
    efficiency: EfficiencyRules
    quality: QualityRules
    completion: CompletionRules
    evidence: EvidenceRules
    alerts: AlertRules
