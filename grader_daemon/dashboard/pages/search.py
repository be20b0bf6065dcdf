"""Search over messages: where words stand, with a line around them and how the session ended."""

from __future__ import annotations

from typing import Final

from starlette.responses import Response

from grader_daemon.api.parts import MessageSearch
from grader_daemon.dashboard.addresses import message_address
from grader_daemon.dashboard.visit import Page, Visit
from grader_daemon.domain.message_search import FoundMessages
from grader_daemon.errors import InputError
from grader_daemon.wings import part

_SHOWN: Final = 50


def search(visit: Visit) -> Response:
    """Answer with the messages that have the words of the address; without any with the form alone."""
    messages: MessageSearch = part("messages")(visit.grader.context)
    words, found, wrong = visit.query.get("text", ""), None, None
    if words and messages.is_on:
        found, wrong = _found(messages, words)
    return visit.show("search.html", words=words, found=found, wrong=wrong, at=message_address, is_on=messages.is_on)


def _found(messages: MessageSearch, words: str) -> tuple[FoundMessages | None, str | None]:
    try:
        return messages.find(words, limit=_SHOWN), None
    except InputError as error:
        return None, str(error)


PAGES: Final = (Page("/search", search),)
