"""What a run of the tests says: failures as they happen, and at the end what was skipped and how to have it."""

from __future__ import annotations

from collections import Counter
from time import monotonic
from typing import Final

import pytest

from tests.needs import AGENTS

_SESSIONS: Final = "sessions with known facts, which are not part of a checkout"
_OF_SESSIONS: Final = ("sample", "recorded sessions", "empty parameter set")
_OTHERS: Final = "programs of others, which .ci/run gets into .agents, and .ci/releases those of `thorough`"


_MANY: Final = 1000
"""Of fewer tests the signs of pytest say enough."""


class Progress:
    """Names a test as soon as it has failed, and says of a long run how far it is and since when."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._began = monotonic()
        self._done: set[str] = set()
        self._tenths = 0

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Print the name of a test that failed; one that is tried again is told at the end."""
        reporter = self._config.pluginmanager.get_plugin("terminalreporter")
        if not isinstance(reporter, pytest.TerminalReporter):
            return
        if report.failed:
            reporter.ensure_newline()
            reporter.write_line(f"FAILED {report.nodeid}", red=True)
        if report.when == "teardown":
            self._done.add(str(report.nodeid))
            self._tell_how_far(reporter)

    def _tell_how_far(self, reporter: pytest.TerminalReporter) -> None:
        known = reporter._session.testscollected if reporter._session else 0
        tenths = 10 * len(self._done) // max(known, 1)
        if known > _MANY and tenths > self._tenths:
            self._tenths = tenths
            minutes, seconds = divmod(round(monotonic() - self._began), 60)
            reporter.ensure_newline()
            reporter.write_line(f"{len(self._done)} of {known} tests after {minutes}:{seconds:02} minutes")


def tell_skipped(reporter: pytest.TerminalReporter) -> None:
    """Say in at most three lines what was skipped and how to have it."""
    reasons = Counter(map(_reason, reporter.stats.get("skipped", ())))
    others = sum(count for reason, count in reasons.items() if reason in AGENTS)
    sessions = sum(count for reason, count in reasons.items() if any(word in reason for word in _OF_SESSIONS))
    here = sorted(
        reason for reason in reasons if reason not in AGENTS and not any(word in reason for word in _OF_SESSIONS)
    )
    for count, what in (
        (sessions, _SESSIONS),
        (others, _OTHERS),
        (sum(reasons[reason] for reason in here), "; ".join(reason.removesuffix(" is missing") for reason in here)),
    ):
        if count:
            reporter.write_line(f"{count} skipped for want of {what}")


def _reason(report: pytest.TestReport) -> str:
    return report.longrepr[2].removeprefix("Skipped: ") if isinstance(report.longrepr, tuple) else ""
