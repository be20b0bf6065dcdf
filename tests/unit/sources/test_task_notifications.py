from __future__ import annotations

from grader_daemon.domain.analysis import CallStatus
from grader_daemon.domain.session import ReportedOutcome
from grader_daemon.sources.task_notifications import Notification, notifications_in


def notification(call: str, status: str, summary: str = "") -> str:
    head = f"<task-notification>\n<task-id>t</task-id>\n<tool-use-id>{call}</tool-use-id>\n"
    return f"{head}<status>{status}</status>\n<summary>{summary}</summary>\n</task-notification>"


def test_each_of_several_notifications_in_a_text_is_told() -> None:
    told = [notification("a", "completed", "ended (exit code 0)"), notification("b", "failed")]

    assert list(notifications_in("\n\n".join(told))) == [
        Notification("a", ReportedOutcome(CallStatus.SUCCESS, 0)),
        Notification("b", ReportedOutcome(CallStatus.FAILURE)),
    ]


def test_what_is_no_end_of_a_task_tells_nothing() -> None:
    texts = [
        f"Look: {notification('a', 'completed')}",
        notification("a", "dancing"),
        "<task-notification><tool-use-id>a</tool-use-id>",
    ]

    assert [list(notifications_in(text)) for text in texts] == [[], [], []]
