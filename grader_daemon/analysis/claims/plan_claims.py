"""Items of an agent's own plan that it ticked, and that claim that tests pass.

"Run the tests" is done when they ran, however they ended; "make all tests pass" is not. Only the last state of a plan
counts, and only one of the request that was answered.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Final

import msgspec

from grader_daemon.analysis.claims.evidence import Note
from grader_daemon.analysis.claims.stated_claim import StatedClaim
from grader_daemon.domain.claims import ClaimKind
from grader_daemon.domain.late_pattern import late_pattern
from grader_daemon.domain.session import USER, Message

_LISTS: Final = ("todos", "plan", "items", "todoList", "tasks")
_TEXTS: Final = ("content", "step", "title", "text", "description")
_TICKED: Final = frozenset({"completed", "complete", "done"})
_LONGEST: Final = 20_000
_TESTS_PASS = late_pattern(r"(?i)\b(?:tests?|suite)\b[^.;]{0,40}?\b(?:pass(?:es|ing)?|green)\b|\bpassing tests?\b")
_WHOLE = late_pattern(r"(?i)\b(?:all|whole|full|entire|complete|every|suite)\b")
_ADMITS = late_pattern(r"(?i)\b(?:fail|broke|red\b|error|not (?:yet )?pass|n't (?:yet )?pass)")


def ticked_claims(notes: Sequence[Note], messages: Sequence[Message], answer: str) -> Iterator[StatedClaim]:
    """Yield what the ticked items of the last plan claim, if the answer does not tell of any failure."""
    plans = {tool for tool in {call.tool for _, call, _ in notes} if _is_plan(tool)}
    if not plans or _ADMITS.search(answer):
        return
    index, call = next((index, call) for index, call, _ in reversed(notes) if call.tool in plans)
    if any(message.role == USER for message in messages[index:]):
        return
    at = next((place for place in range(index - 1, -1, -1) if messages[place].tool_calls), index)
    for item in _items(call.text):
        text = next((value for key in _TEXTS if isinstance(value := item.get(key), str)), "")
        if item.get("status") in _TICKED and _TESTS_PASS.search(text):
            is_limited = _WHOLE.search(text) is None
            yield StatedClaim(ClaimKind.TESTS_PASSED, by_agent=True, said=text, is_limited=is_limited, at=at)


@lru_cache(maxsize=1_024)
def _is_plan(tool: str | None) -> bool:
    name = (tool or "").lower()
    return "todo" in name or name.endswith("update_plan")


def _items(arguments: str) -> list[dict[str, object]]:
    """Return the items of a plan in the arguments of a call."""
    try:
        given = msgspec.json.decode(arguments[:_LONGEST])
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return []
    found = next((given[key] for key in _LISTS if key in given), None) if isinstance(given, dict) else None
    return [each for each in found if isinstance(each, dict)] if isinstance(found, list) else []
