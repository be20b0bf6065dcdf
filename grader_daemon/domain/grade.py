"""The judgement of one session, with the reasons for it."""

from __future__ import annotations

from datetime import datetime
from typing import Final

import msgspec

from grader_daemon.domain.analysis import Failure, SessionState, ToolUse, errors_of
from grader_daemon.domain.claims import Claim
from grader_daemon.domain.installed import SkillUse
from grader_daemon.domain.people import PersonSignal
from grader_daemon.domain.session import PERSONS, SessionKind
from grader_daemon.domain.session_features import NO_FEATURES, Features
from grader_daemon.domain.session_result import EndingKind, ResultStanding, ended_badly
from grader_daemon.domain.unit import FIRST_SOURCE, Unit
from grader_daemon.domain.verdict import Outcome, VerdictBy

UNKNOWN_FORMAT = "unknown"
"""The format of a grade that another program made."""

BY_AGENT: Final = "agent"
"""Source of a price that the agent wrote down itself."""


class Reason(msgspec.Struct, frozen=True, gc=False):
    """One rule that applied.

    `score` names the column it moved, `effect` by how much on that score's own scale (for `task_completed`: +1 for,
    -1 against, None when the rule decides alone). `messages` are indexes into the session's messages.
    """

    score: str
    rule: str
    effect: float | None
    messages: tuple[int, ...] = ()


class Grade(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """All data about one graded session; times are aware UTC, None means unknown.

    A session that is not `scored` has nothing to judge: no answer and no tool call. An interrupted one is unfinished.
    In both, `tool_calls_efficient`, `response_quality` and `errors_recovered` come from the original formulas and mean
    nothing; `efficiency`, `quality`, `recovered` and `score` are None. So is `completed`, except for a session that was
    cut short: its task was not done.

    Attributes:
        session_id: the id of the session in its file.
        session_file: the path of the file.
        graded_at: time of this grade.
        task_completed: true if the task counts as done; `verdict_by` names the grader.
        tool_calls_efficient: 1 (worst) to 5, by error rate and number of tool calls.
        response_quality: 1 (worst) to 5, by the final answer.
        errors_recovered: true without errors, or with a success after the last error and an answer at the end.
        total_api_calls: number of assistant messages.
        model: the model's name, as in the file.
        platform: where the person talked to the agent, such as cli or telegram.
        session_start: start time.
        duration_seconds: seconds from start to last update.
        task_summary: the first request, one redacted line of at most 200 characters.
        total_errors: number of failed tool results, without probes.
        error_types: distinct categories of these errors, in order of first appearance.
        tools_with_errors: distinct tools with these errors, in the same order.
        had_repeated_errors: 3 or more errors in a row.
        had_infinite_loop_risk: 5 or more errors in a row, or more than 50 assistant messages.
        had_user_clarification: the agent asked, and a person answered.
        state: complete, interrupted or open.
        state_reason: the reason for the state, in words.
        task_type: task type by the words of the first request; `general` if none fits.
        format: the name of the source that read it.
        tool_calls: number of tool calls.
        error_rate: `total_errors` divided by `total_api_calls`; can exceed 1.
        had_user_refusal: a person refused a tool call.
        had_user_interruption: a person interrupted a tool call.
        ended_at: time of the last update, or of the file's last write.
        ended_on: the day of `ended_at` in your time zone, such as 2026-11-22; statistics use this day.
        tools: each tool with its calls and errors.
        failures: each failed tool result, probes included.
        reasons: the rules that applied.
        rules_version: version of the rules, the model and the policy.
        p_completed: the model's probability that the task is done, 0 to 1; None while the session is open.
        verdict_by: source of the verdict: rules, model, a person, a run's reward, or a revert in git.
        rules_completed: the rules' verdict, even if another grader decides.
        automatic_completed: the verdict without your label; None if you gave no label on completion.
        automatic_by: the grader of that automatic verdict.
        automatic_quality: the quality without your label; None if you gave no label on quality.
        claims: each claim in the final answer, with the result of its check against the record.
        signals_from_people: reactions of people to the work.
        request: a hash of the first request, the same for the same words.
        wording: how that is worded: bytes that near requests share, see `domain.wording`.
        asked_again: the id of the later session with the same task.
        features: what the model read, in its order; no numbers for people.
        project: the folder in which the agent worked, if the file names it.
        scored: true if there is anything to grade.
        unsure: true if neither the record nor measured labels support the automatic verdict; see `Outcome`.
        unit_key: which of the sessions in its file; "" where it holds one.
        agent: the program that wrote the session, such as "hermes".
        agent_version: the agent's version.
        kind: how the session was started; None if the file does not say, usually by a person.
        parent: the id of the session that started this one, or that this one continues.
        input_tokens: uncached input tokens of all models; for this and the next columns see `Usage`.
        cache_read_tokens: input tokens read from a cache.
        cache_write_tokens: tokens written to a cache.
        output_tokens: output tokens of all models.
        reasoning_tokens: the part of the output tokens used for reasoning.
        cost_usd: cost in US dollars, 0 or more.
        cost_by: origin of the cost: `agent`, or the price list with its version.
        undone: how often a person reverted the agent's work.
        system_prompt_digest: hash of the system prompt without parts that change automatically, such as dates.
        tools_digest: hash of the list of tools offered to the model.
        skills: each skill used, and how: view, command or manage; None if the source does not record skills.
        early_errors: errors in its first ten tool calls; None if it made fewer calls.
        host: the fleet machine it ran on; None for this machine.
        request_words: the distinct words in the first 8,000 characters of the first request, redacted, for finding
            similar tasks. None without a request; this and the columns below are None in grades of earlier versions.
        answer_beginning: the first 200 characters of the final answer, one redacted line.
        last_check: the command of the last passed test run, one redacted line of at most 200 characters.
        edited_paths: up to eight edited files, one redacted line each, the last one first.
        ending: how the session ended; None while it is open.
        standing: how the record rates the result; None while the session is open.
        job: key of its scheduled job, the same for all runs of the job; None if no schedule started it.
        job_name: the beginning of the job's instructions, one redacted line.
        adapter: the installed package that read it, with its version; None if grader-daemon read it.
    """

    session_id: str
    session_file: str
    graded_at: datetime
    task_completed: bool
    tool_calls_efficient: int
    response_quality: int
    errors_recovered: bool
    total_api_calls: int
    model: str | None
    platform: str | None
    session_start: datetime | None
    duration_seconds: float | None
    task_summary: str | None
    total_errors: int
    error_types: tuple[str, ...]
    tools_with_errors: tuple[str, ...]
    had_repeated_errors: bool
    had_infinite_loop_risk: bool
    had_user_clarification: bool
    state: SessionState
    state_reason: str
    task_type: str
    format: str
    tool_calls: int
    error_rate: float
    had_user_refusal: bool
    had_user_interruption: bool
    ended_at: datetime | None
    ended_on: str
    tools: tuple[ToolUse, ...]
    failures: tuple[Failure, ...]
    reasons: tuple[Reason, ...]
    rules_version: str
    p_completed: float | None = None
    verdict_by: VerdictBy = VerdictBy.RULES
    rules_completed: bool | None = None
    automatic_completed: bool | None = None
    automatic_by: VerdictBy | None = None
    automatic_quality: int | None = None
    claims: tuple[Claim, ...] = ()
    signals_from_people: tuple[PersonSignal, ...] = ()
    request: int | None = None
    wording: bytes | None = None
    asked_again: str | None = None
    features: Features = NO_FEATURES
    project: str | None = None
    scored: bool = True
    unsure: bool = False
    unit_key: str = ""
    agent: str | None = None
    agent_version: str | None = None
    kind: SessionKind | None = None
    parent: str | None = None
    input_tokens: int | None = None
    cache_read_tokens: int | None = None
    cache_write_tokens: int | None = None
    output_tokens: int | None = None
    reasoning_tokens: int | None = None
    cost_usd: float | None = None
    cost_by: str | None = None
    undone: int = 0
    system_prompt_digest: str | None = None
    tools_digest: str | None = None
    skills: tuple[SkillUse, ...] | None = None
    early_errors: int | None = None
    host: str | None = None
    request_words: str | None = None
    answer_beginning: str | None = None
    last_check: str | None = None
    edited_paths: str | None = None
    ending: EndingKind | None = None
    standing: ResultStanding | None = None
    job: str | None = None
    job_name: str | None = None
    adapter: str | None = None

    @property
    def unit(self) -> Unit:
        """The unit of its session; a grade of another program is of a file of Hermes."""
        return Unit(FIRST_SOURCE if self.format == UNKNOWN_FORMAT else self.format, self.session_file, self.unit_key)

    @property
    def is_persons(self) -> bool:
        """True for a task of a person: no sub-agent, cron run or review, which rates and means leave out."""
        return self.kind in PERSONS

    @property
    def outcome(self) -> Outcome:
        """The verdict as people read it; a label is never unsure, nor is a reward."""
        if self.verdict_by.is_automatic and not self.scored:
            return Outcome.NO_ANSWER
        if self.completed is None or (self._is_in_doubt and self.verdict_by.is_automatic):
            return Outcome.UNSURE
        return Outcome.DONE if self.task_completed else Outcome.NOT_DONE

    @property
    def has_failed(self) -> bool:
        """True if the session is not done, or ended badly and is not known to be done."""
        outcome, ended = self.outcome, ended_badly(self.ending, self.standing)
        return outcome is Outcome.NOT_DONE or (ended is True and outcome is not Outcome.DONE)

    @property
    def _is_in_doubt(self) -> bool:
        return self.unsure or self.state is SessionState.OPEN

    @property
    def completed(self) -> bool | None:
        """`task_completed` where anything is known of it: there is something to judge, a label or a reward.

        Of interrupted sessions no more is known than that some were cut short: nothing counts one as completed.
        """
        if not self.verdict_by.is_automatic:
            return self.task_completed
        is_unknown = self.state is SessionState.INTERRUPTED and (self.unsure or self.task_completed)
        return None if is_unknown or not self.scored else self.task_completed

    @property
    def has_scores(self) -> bool:
        """True if there is an answer or a call to score, and the session was not interrupted."""
        return self.scored and self.state is not SessionState.INTERRUPTED

    @property
    def efficiency(self) -> int | None:
        """`tool_calls_efficient`, 1 to 5, where anything is known of it."""
        return self.tool_calls_efficient if self.has_scores else None

    @property
    def quality(self) -> int | None:
        """`response_quality`, 1 to 5, where anything is known of it: it has scores, or a person said it."""
        return self.response_quality if self.has_scores or self.automatic_quality is not None else None

    @property
    def recovered(self) -> bool | None:
        """`errors_recovered` where anything is known of it."""
        return self.errors_recovered if self.has_scores else None

    @property
    def errors(self) -> tuple[Failure, ...]:
        """The failures that count as errors: all but probes."""
        return errors_of(self.failures)

    @property
    def error_indexes(self) -> tuple[int, ...]:
        """The messages of these failures."""
        return tuple([error.index for error in self.errors])

    @property
    def score(self) -> float | None:
        """Session score, 1 to 5: mean of efficiency, quality and 1 + 4 x completed; None where nothing was finished."""
        if not self.has_scores:
            return None
        return session_score(self.tool_calls_efficient, self.response_quality, completed=self.task_completed)


def session_score(efficiency: float, quality: float, *, completed: float) -> float:
    """Mean of the three scores on the 1-5 scale; `completed` is 0 to 1 (a rate works as well as a verdict)."""
    return (efficiency + quality + 1 + 4 * completed) / 3
