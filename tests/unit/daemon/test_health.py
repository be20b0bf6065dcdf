from __future__ import annotations

from structlog.testing import capture_logs

from grader_daemon.daemon.health import Health
from grader_daemon.daemon.notify import Notifier


def test_falling_behind_is_a_warning_and_catching_up_is_none() -> None:
    with capture_logs() as logs:
        health = Health(Notifier({}))
        for files, waited in ((3, 1.0), (1178, 360.44), (2000, 400.0), (0, 0.0), (0, 0.0)):
            health.note_waiting(files, waited)

    assert logs == [
        {"event": "intake.behind", "log_level": "warning", "waiting": 1178, "oldest_seconds": 360.4},
        {"event": "intake.caught_up", "log_level": "info"},
    ]
