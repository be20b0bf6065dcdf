"""Notifications that tell a model how a task in the background ended, as Claude Code and Qwen Code write them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

from grader_daemon.domain.analysis import CallStatus
from grader_daemon.domain.session import ReportedOutcome

_BEGIN: Final = "<task-notification>"
_NOTIFICATION = re.compile(
    rf"{_BEGIN}\s{{0,9}}(?:<task-id>[^<]{{0,200}}</task-id>\s{{0,9}})?<tool-use-id>([\w-]{{1,200}})<"
)
_STATUS = re.compile(r"<status>(\w{1,40})</status>")
_LONGEST_HEAD: Final = 5_000
_EXIT_CODE = re.compile(r"\bexit code (\d{1,3})\b")
_STATUSES: Final = {
    "completed": CallStatus.SUCCESS,
    "failed": CallStatus.FAILURE,
    "killed": CallStatus.INTERRUPTED,
    "stopped": CallStatus.INTERRUPTED,
    "cancelled": CallStatus.INTERRUPTED,
}


class Notification(NamedTuple):
    """Outcome of a call that went on in the background."""

    call_id: str
    outcome: ReportedOutcome


def notifications_in(text: str) -> Iterator[Notification]:
    """Yield what the notifications say of which a text consists; nothing of any other text."""
    if not text.startswith(_BEGIN):
        return
    for found in _NOTIFICATION.finditer(text):
        status = _STATUS.search(text, found.end(), found.end() + _LONGEST_HEAD)
        if status is not None and status[1] in _STATUSES:
            code = _EXIT_CODE.search(text, status.end(), status.end() + 500)
            exit_code = int(code[1]) if code is not None else None
            yield Notification(found[1], ReportedOutcome(_STATUSES[status[1]], exit_code))
