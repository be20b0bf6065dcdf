"""The effect of a regrade."""

from __future__ import annotations

import msgspec

from grader_daemon.domain.estimate import Estimate
from grader_daemon.domain.grade import Reason
from grader_daemon.domain.verdict import VerdictCounts


class ColumnChange(msgspec.Struct, frozen=True, gc=False):
    """One column of one grade, before and after."""

    column: str
    before: bool | float | None
    after: bool | float | None


class GradeChange(msgspec.Struct, frozen=True, kw_only=True):
    """The change in one grade.

    `silent` are reasons that would no longer apply, `speaking` those that would apply instead (a rule whose effect
    changes is in both). `score_change` is on the 1-5 scale of the session score, None if one of the scores is unknown.
    """

    session_id: str
    task_summary: str | None
    columns: tuple[ColumnChange, ...]
    silent: tuple[Reason, ...]
    speaking: tuple[Reason, ...]
    score_change: float | None


class ColumnDiff(msgspec.Struct, frozen=True, kw_only=True):
    """Number of grades in which a column would rise, and fall; for `task_completed` from no to yes, and from yes to no.

    A value that becomes known counts as rising, one that becomes unknown as falling. `before` and `after` are the means
    of known values (for `task_completed` the rate), None if there are none.
    """

    column: str
    rises: int
    falls: int
    before: float | None
    after: float | None


class RegradeDiff(msgspec.Struct, frozen=True, kw_only=True):
    """Changes that a regrade would make.

    `sessions` were compared, `changed` would change. `unread` maps a reason to the number of sessions that could not be
    graded again. Rates are over the sessions that were compared and have a verdict; `verdicts_before` and
    `verdicts_after` count those of tasks of people. `largest` are the changes that move most.
    """

    sessions: int
    changed: int
    columns: tuple[ColumnDiff, ...]
    completion_before: Estimate
    completion_after: Estimate
    verdicts_before: VerdictCounts
    verdicts_after: VerdictCounts
    unread: dict[str, int]
    largest: tuple[GradeChange, ...]
