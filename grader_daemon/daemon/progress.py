"""Progress through what lay there before a first start: how many sessions, how fast, and how long it takes yet."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from itertools import islice
from time import monotonic
from typing import Final

import structlog

from grader_daemon.sources.discovery import Walk

_FEWEST: Final = 200
"""Fewer sessions are graded within the second in which they are counted."""

_MOST: Final = 100_000
"""More are not counted: 13 µs each, before the first of them is graded."""

_TOLD_EVERY_SECONDS: Final = 5.0
_SAMPLES: Final = 6
"""The pace is that since so many tellings: what helpers take to start is forgotten soon."""


class Progress:
    """Count of what is done, told by one thread every few seconds until all is graded that was there at the start."""

    def __init__(self) -> None:
        self._log = structlog.get_logger()
        self._files = 0
        self._is_telling = False
        self._tell_at = 0.0
        self._samples: deque[tuple[float, int]] = deque(maxlen=_SAMPLES)

    def begin(self, walks: Iterable[Walk]) -> None:
        """Count the files of `walks`, and tell how many lie there; of few nothing is told."""
        self._files = sum(1 for _ in islice((each for walk in walks for each in walk), _MOST))
        self._is_telling = self._files >= _FEWEST
        self._samples.append((monotonic(), 0))
        if self._is_telling:
            self._log.info("backlog.found", files=self._files, is_more=self._files == _MOST)

    def tell(self, done: int, *, settled: bool) -> None:
        """Log it if it is time: so many files are `done`, and all of them when it is `settled`."""
        now = monotonic()
        if not self._is_telling or not (settled or (done and now >= self._tell_at)):
            return
        self._tell_at, self._is_telling = now + _TOLD_EVERY_SECONDS, not settled
        began, before = self._samples[0]
        pace = (done - before) / max(now - began, 1e-3)
        self._samples.append((now, done))
        known = None if self._files == _MOST or not pace else round(max(0, self._files - done) / pace)
        left = 0 if settled else known
        self._log.info("backlog.progress", examined=done, files=self._files, per_second=round(pace), seconds_left=left)
