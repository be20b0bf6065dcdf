"""Alerts: what is watched, what a session adds to it, and what people are told."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum
from typing import Final

import msgspec

from grader_daemon.domain.analysis import ToolUse
from grader_daemon.domain.estimate import Estimate
from grader_daemon.domain.rollup import Dimension, Metric
from grader_daemon.domain.session import SessionKind
from grader_daemon.domain.setup_changes import SetupChange

SCHEDULED: Final = (Dimension.KIND, SessionKind.CRON.value)
"""The group of the runs that a schedule began."""


class Stream(msgspec.Struct, frozen=True, order=True):
    """One metric of one group of sessions. `name` is "" for `Dimension.OVERALL`."""

    metric: Metric
    dimension: Dimension
    name: str

    @property
    def is_scheduled(self) -> bool:
        """True for scheduled runs; all other streams are of tasks of persons."""
        return self.dimension is Dimension.JOB or (self.dimension, self.name) == SCHEDULED


class Observation(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """A finished session as the watch sees it. `ended_on` is its day (ISO 8601) where the person lives.

    Of an interrupted session `efficiency` and `quality` are None; `ended_badly` is None where it is not known how it
    ended.
    `scheduled` says that no person began it, but a schedule; `job` is the key of that job, where it is known.
    """

    session_id: str
    ended_at: datetime
    ended_on: str
    task_type: str
    model: str | None
    platform: str | None
    ended_badly: bool | None
    efficiency: int | None
    quality: int | None
    tool_calls: int
    failures: int
    tools: tuple[ToolUse, ...]
    agent: str | None = None
    host: str | None = None
    scheduled: bool = False
    job: str | None = None


class AlertKind(StrEnum):
    """Trigger of an alert: the sequential detector, or a plain threshold of `rules.toml`."""

    DEGRADATION = "degradation"
    THRESHOLD = "threshold"


class AlertLevel(StrEnum):
    """Severity of an alert."""

    WARNING = "warning"
    CRITICAL = "critical"


class DropCause(StrEnum):
    """Cause of a drop in a metric that is beyond chance: a different mix of tasks, or the same work got worse."""

    MIX = "mix"
    WORK = "work"
    BOTH = "both"
    UNCLEAR = "unclear"


class StreamDrop(msgspec.Struct, frozen=True, kw_only=True):
    """A stream before and since the drop, on the metric's own scale.

    Rates are 0 to 1 (`failure_rate`: errors per call), efficiency and quality 1 to 5. `called` is the name of a
    scheduled job, because the stream only has the job's key.
    """

    stream: Stream
    before: Estimate
    since: Estimate
    began_at: datetime
    called: str | None = None


class ShareChange(msgspec.Struct, frozen=True, kw_only=True):
    """A changed share of the sessions, 0 to 1: that of an agent, host, model, platform, task type or tool."""

    dimension: Dimension
    name: str
    before: float
    since: float


class Decomposition(msgspec.Struct, frozen=True, kw_only=True):
    """A change of a metric, on its own scale, split into two parts.

    Attributes:
        mix: the part caused by a different mix of task types.
        work: the part within task types: the same work went better or worse.
        mix_margin: half of the 95 % range of `mix`; None in alerts of older versions.
        work_margin: half of the 95 % range of `work`; None in alerts of older versions.
    """

    mix: float
    work: float
    mix_margin: float | None = None
    work_margin: float | None = None
    cause: DropCause = msgspec.field(name="verdict")


class Alert(msgspec.Struct, frozen=True, kw_only=True):
    """One alert for one cause.

    Attributes:
        number: its number; None until it is stored.
        drops: its metrics that got worse, first the one that raised the alert.
        sessions: ids of the sessions that weigh most.
        rule: name of the threshold, if a threshold raised it.
        told: whether a message about it was sent.
        setup_change: the nearest change of the agents' set-up within a week of its start; None if there was none.
    """

    number: int | None = None
    kind: AlertKind
    level: AlertLevel
    drops: tuple[StreamDrop, ...]
    opened_at: datetime
    began_at: datetime
    sessions: tuple[str, ...] = ()
    changes: tuple[ShareChange, ...] = ()
    decomposition: Decomposition | None = None
    rule: str | None = None
    resolved_at: datetime | None = None
    acknowledged_at: datetime | None = None
    note: str | None = None
    told: bool = False
    setup_change: SetupChange | None = None
