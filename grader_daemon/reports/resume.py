"""Command with which an agent goes on with a session of its own."""

from __future__ import annotations

import re
from shlex import quote
from typing import Final

from grader_daemon.domain.grade import Grade
from grader_daemon.domain.session import SessionKind

_COMMANDS: Final = {
    "claude-code": "claude --resume {}",
    "codex": "codex resume {}",
    "opencode": "opencode --session {}",
}
"""By the format of the session."""
_ID: Final = re.compile(r"[A-Za-z0-9][\w-]{0,99}", re.ASCII)
"""An id that a shell takes as it is, and no option."""


def resume_command(grade: Grade) -> str | None:
    """Return the command that resumes a person's session on this machine, in its folder; None where none is known."""
    command = _COMMANDS.get(grade.format or "")
    is_here = grade.host is None and grade.kind in (None, SessionKind.MAIN)
    if command is None or not is_here or _ID.fullmatch(grade.session_id) is None:
        return None
    folder = f"cd {quote(grade.project)} && " if grade.project and grade.project.isprintable() else ""
    return folder + command.format(grade.session_id)
