"""What grading some files came to."""

from __future__ import annotations

import msgspec

from grader_daemon.domain.calibration import Trust
from grader_daemon.domain.grade import Grade


class GradingResult(msgspec.Struct, frozen=True, kw_only=True):
    """What came of grading some files: grades (`id` is None when nothing was stored), skipped and ungradable ones.

    `trust` says how far the verdicts can be trusted.
    """

    grades: list[tuple[int | None, Grade]]
    skipped: list[tuple[str, str]]
    errors: list[tuple[str, str]]
    trust: Trust
