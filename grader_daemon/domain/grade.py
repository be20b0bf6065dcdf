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
from grader_daemon.domain.session_result import EndingKind, ResultStanding
from grader_daemon.domain.unit import FIRST_SOURCE, Unit
from grader_daemon.domain.verdict import Outcome, VerdictBy

UNKNOWN_FORMAT = "unknown"
"""The format of a grade that another program made."""

BY_AGENT: Final = "agent"
"""Source of a price that the agent wrote down itself."""


class Reason(msgspec.Struct, frozen=True, gc=False):
    """One rule that spoke.

    `score` names the column it moved, `effect` by how much on that score's own scale (for `task_completed`: +1 for,
    -1 against, None when the rule decides alone). `messages` are indexes into the session's messages.
    """

    score: str
    rule: str
    effect: float | None
    messages: tuple[int, ...] = ()


class Grade(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """Everything that is kept about one graded session; times are aware UTC, None is what nobody knows.

    A session that was not `scored` shows nothing to judge, no answer and no tool call; in one that was interrupted
    nothing was finished. There `tool_calls_efficient`, `response_quality` and `errors_recovered` are what the formulas
    of the original design give, and say nothing; `efficiency`, `quality`, `recovered` and `score` are None. So is
    `completed`, but for a session that was cut short: its task was not done.

    Attributes:
        session_id: its name in its file.
        session_file: the path of the file.
        graded_at: when this grade was made.
        task_completed: was the task completed? By whom `verdict_by` names.
        tool_calls_efficient: 1 (worst) to 5, by error rate and number of tool calls.
        response_quality: 1 (worst) to 5, by the final answer.
        errors_recovered: there was no failure, or a success after the last one and an answer at the end.
        total_api_calls: assistant messages.
        model: the name of the model, as the file has it.
        platform: where the agent was talked to, such as cli or telegram.
        session_start: when it began.
        duration_seconds: seconds from its start to its last update.
        task_summary: the first request, one redacted line of at most 200 characters.
        total_errors: tool results that are failures and no probes.
        error_types: their categories, distinct, in order of first appearance.
        tools_with_errors: their tools, likewise.
        had_repeated_errors: 3 or more failures in a row.
        had_infinite_loop_risk: 5 or more in a row, or more than 50 assistant messages.
        had_user_clarification: the agent asked, and a person answered.
        state: complete, interrupted or open.
        state_reason: why, in words.
        task_type: by the words of the first request; `general` where none fits.
        format: the name of the source that it was read from.
        tool_calls: tool calls in its assistant messages.
        error_rate: `total_errors` by `total_api_calls`, 0 and more.
        had_user_refusal: a person refused a tool call.
        had_user_interruption: a person interrupted one.
        ended_at: its last update, or when its file was written last.
        ended_on: the day of that where the person lives, as in 2026-11-22: statistics count the session there.
        tools: each tool with its calls and failures.
        failures: each failed tool result, probes too.
        reasons: the rules that spoke.
        rules_version: names the rules, the model and who decided.
        p_completed: the model's probability of completion, 0 to 1; None of a session that goes on.
        verdict_by: who says whether the task was completed: rules, model, a person, a run's reward, or a revert in git.
        rules_completed: what the rules say of that, whoever decides.
        automatic_completed: what would stand without a label on completion; None where there is none.
        automatic_by: whose verdict that would be.
        automatic_quality: the quality that would stand without a label; None where there is none.
        claims: what the final answer claims, each held against the record.
        signals_from_people: what people said of the work.
        request: a hash of the first request, the same for the same words.
        wording: how that is worded: bytes that near requests share, see `domain.wording`.
        asked_again: the id of the session in which the same was asked for again.
        features: what the model read, in its order; no numbers for people.
        project: the folder in which the agent worked, where its file says so.
        scored: is there anything to judge?
        unsure: neither the record nor measured labels stand behind the automatic verdict, see `Outcome`.
        unit_key: which of the sessions in its file; "" where it holds one.
        agent: the program whose session it is, as in "hermes".
        agent_version: of that program.
        kind: who had it begun; None where its file does not say, which is mostly a person.
        parent: the id of the session that had it begun, or that it goes on from.
        input_tokens: read by its models from no cache, all models together; for it and the following see `Usage`.
        cache_read_tokens: read from a cache.
        cache_write_tokens: written to one.
        output_tokens: written by its models.
        reasoning_tokens: of these, those of their reasoning.
        cost_usd: its price in US dollars, 0 and more.
        cost_by: where the price comes from: `agent`, or the list of prices with its version.
        undone: how often a person took back what had been done.
        system_prompt_digest: the same while the system prompt is, but for what changes by itself, as dates do.
        tools_digest: the same for the same list of tools that the model was offered.
        skills: each skill that it used, with how: view, command or manage; None where its source does not tell.
        early_errors: errors among the results of its first ten tool calls; None where it made fewer.
        host: the machine of a fleet that it ran on; None of a session of this machine.
        request_words: the different words of the first request, of its first 8,000 characters, redacted; what is like
            it is found by them. None without a request, and in grades of earlier versions, as are those below.
        answer_beginning: the first 200 characters of the final answer, one redacted line.
        last_check: the command of the last test run that passed, one redacted line of at most 200 characters.
        edited_paths: up to eight files that editors wrote, a line each, redacted, the last one first.
        ending: how it ended; None while it is open, and in grades of earlier versions, as is the next.
        standing: how its result stands by the record.
        job: key of the scheduled job that it is a run of, the same for all its runs; None where no schedule began it.
        job_name: the beginning of that job's instructions, one redacted line.
        adapter: the installed package that read it, with its version; None where this program did.
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
    def score(self) -> float | None:
        """Session score, 1 to 5: mean of efficiency, quality and 1 + 4 x completed; None where nothing was finished."""
        if not self.has_scores:
            return None
        return session_score(self.tool_calls_efficient, self.response_quality, completed=self.task_completed)


def session_score(efficiency: float, quality: float, *, completed: float) -> float:
    """Mean of the three scores on the 1-5 scale; `completed` is 0 to 1 (a rate works as well as a verdict)."""
    return (efficiency + quality + 1 + 4 * completed) / 3
