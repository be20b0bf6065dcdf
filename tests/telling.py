"""What a run of the tests says: failures as they happen, and at the end what was skipped and how to have it."""

from __future__ import annotations

from collections import Counter
from typing import Final

import pytest

from tests.needs import AGENTS

_SESSIONS: Final = "sessions with known facts, which are not part of a checkout"
_OF_SESSIONS: Final = ("sample", "recorded sessions", "empty parameter set")
_OTHERS: Final = "programs of others, which .ci/run gets into .agents"


class Failures:
    """Names a test as soon as it has failed."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Print the name of a test that failed; one that is tried again is told at the end."""
        reporter = self._config.pluginmanager.get_plugin("terminalreporter")
        if report.failed and isinstance(reporter, pytest.TerminalReporter):
            reporter.ensure_newline()
            reporter.write_line(f"FAILED {report.nodeid}", red=True)


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
