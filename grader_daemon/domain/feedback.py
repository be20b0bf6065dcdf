"""What people said of grades. Feedback is added and taken back by more of it, never changed."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum

import msgspec

from grader_daemon.domain.verdict import VerdictBy


class FeedbackSource(StrEnum):
    """How it was given."""

    LABEL = "label"
    CSV = "csv"
    REVIEW = "review"
    API = "api"


class Sampling(StrEnum):
    """How `review` came to ask for a session."""

    RANDOM = "random"
    UNCERTAIN = "uncertain"


class Feedback(msgspec.Struct, frozen=True, kw_only=True):
    """What one person said of one session, and what stood before.

    `completed` and `quality` (1 to 5) are None when nothing was said of them. `digest` is that of the file that was
    judged: a session that went on since is another one to learn from. `withdraws` is the id of the feedback that this
    one takes back.
    """

    id: int
    session_id: str
    given_at: datetime
    given_by: str
    completed: bool | None
    quality: int | None
    note: str | None
    source: FeedbackSource
    sampled: Sampling | None
    digest: str | None
    completed_before: bool
    quality_before: int
    verdict_before: VerdictBy
    p_completed: float | None
    withdraws: int | None
