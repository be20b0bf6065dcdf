"""The messages of a session as a decoder reads them, one after the other: the same for every format."""

from __future__ import annotations

from datetime import datetime

from grader_daemon.domain.session import TOOL, Content, Message, ReportedOutcome


class Conversation:
    """Messages so far: their times, what is noted of results, and the places where something was taken back."""

    def __init__(self) -> None:
        self.messages: list[Message] = []
        self.times: list[datetime | None] = []
        self.reported: dict[int, ReportedOutcome] = {}
        self.taken_back: list[int] = []

    def append(self, message: Message, time: datetime | None) -> int:
        """Add the next message; returns its place."""
        self.messages.append(message)
        self.times.append(time)
        return len(self.messages) - 1

    def append_result(
        self,
        content: Content,
        outcome: ReportedOutcome | None,
        time: datetime | None,
        *,
        call_id: str | None,
        tool: str | None = None,
    ) -> int:
        """Add the result of a call, and how the call went if that is noted; returns its place."""
        place = self.append(Message(role=TOOL, content=content, tool_call_id=call_id, tool_name=tool), time)
        if outcome is not None:
            self.reported[place] = outcome
        return place
