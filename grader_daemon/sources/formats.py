"""The session formats we can read, one module each.

A new agent is a new module with a `SessionFormat` in it and one line in `FORMATS`.
"""

from __future__ import annotations

from datetime import tzinfo
from typing import Protocol

from grader_daemon.domain.session import Session, Skipped, SkipReason
from grader_daemon.sources.hermes.snapshot import HermesFormat


class SessionFormat(Protocol):
    """How one agent writes its sessions down."""

    name: str

    def claims(self, path: str) -> bool:
        """Is this the name of a session file of this format, or of a file that the agent writes beside them?"""

    def companion(self, path: str) -> SkipReason | None:
        """Say what a claimed file is that is no session by its name alone; None for sessions."""

    def read(self, content: bytes, path: str, *, zone: tzinfo | None) -> Session | Skipped:
        """Decode a session file. Times without a zone are in `zone` (None: the machine's).

        Raises:
            msgspec.MsgspecError: the bytes are not what the format promises.
            RecursionError: they are nested too deeply.
        """


FORMATS: tuple[SessionFormat, ...] = (HermesFormat(),)

__all__ = ["FORMATS", "HermesFormat", "SessionFormat"]
