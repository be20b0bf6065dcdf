"""A skill that a person typed as a command: Hermes puts the text of the skill in the place of what was typed.

The message says which skills they are, then follow their texts. What the person added stands behind the text of one
skill and before those of several (its `agent/skill_commands.py` and `skill_bundles.py`, 0.13 to 0.19). pi puts it
into a tag that names the skill, and what was added behind that.
"""

from __future__ import annotations

import re
from typing import Final

import msgspec

_LOADED: Final = "[IMPORTANT: The user has invoked the "
_HEAD: Final = re.compile(r'"([^"\n]{1,512})" (?:skill, |(?:stacked )?(skill bundle), )')
_SEVERAL: Final = re.compile(r"^Skills loaded: ([^\n]{1,2000})$", re.MULTILINE)
_LONGEST_HEAD: Final = 4_000
"""Number of characters of a message that name the skills loaded into it."""

_ADDED: Final = "\n\nThe user has provided the following instruction alongside the skill invocation: "
_NOTE: Final = "\n\n[Runtime note: "
_ADDED_TO_SEVERAL: Final = "\n\nUser instruction: "
_TAGGED: Final = re.compile(r'<skill name="([^"\n]{1,512})" location="[^"\n]{0,4096}">\n')
_END_OF_TAGGED: Final = "\n</skill>"
_FIRST_OF_SEVERAL: Final = "\n\n[Loaded as part of the "


class Invocation(msgspec.Struct, frozen=True):
    """A command of a person: what was `said` with it, else the command itself; `skills` are as the agent names them."""

    said: str
    skills: tuple[str, ...]


def invocation_of(text: str) -> Invocation | None:
    """Return what a person typed where the texts of skills stand in its place; None for any other message."""
    tagged = _TAGGED.match(text)
    if tagged is not None:
        added = text.partition(_END_OF_TAGGED)[2].strip()
        return Invocation(added or f"/{tagged[1]}", (tagged[1],))
    head = _HEAD.match(text, len(_LOADED)) if text.startswith(_LOADED) else None
    if head is None:
        return None
    name, is_bundle = head[1], head[2] is not None
    if is_bundle:
        return Invocation(_added_to_several(text) or f"/{name.lstrip('/')}", _loaded(text))
    return Invocation(_added_to_one(text) or f"/{name.rstrip('/').rpartition('/')[2]}", (name,))


def as_typed(text: str) -> str:
    """Return a message with what the person typed in the place of the texts of skills; any other as it is."""
    invocation = invocation_of(text)
    return text if invocation is None else invocation.said


def _added_to_one(text: str) -> str:
    return text.rpartition(_ADDED)[2].partition(_NOTE)[0].strip() if _ADDED in text else ""


def _added_to_several(text: str) -> str:
    return text.partition(_FIRST_OF_SEVERAL)[0].partition(_ADDED_TO_SEVERAL)[2].strip()


def _loaded(text: str) -> tuple[str, ...]:
    found = _SEVERAL.search(text, 0, _LONGEST_HEAD)
    return () if found is None else tuple(found[1].split(", "))
