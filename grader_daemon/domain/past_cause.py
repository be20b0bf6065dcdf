"""Causes of failed calls in earlier sessions, and sure remedies; apart from what most questions are about."""

from __future__ import annotations

from datetime import datetime

import msgspec

from grader_daemon.domain.error_groups import StepCount
from grader_daemon.domain.recollection import CauseWords


class PastCause(msgspec.Struct, frozen=True, kw_only=True):
    """Failures of one cause over all time, and the step that surely helps, if one does.

    `tries` counts what was tried next, `recovered` after how much of it the error was recovered.
    """

    words: CauseWords
    failures: int
    sessions: int
    last_seen: datetime
    tries: int
    recovered: int
    sure_step: StepCount | None
