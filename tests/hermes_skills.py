"""What Hermes sends when a person types a skill as a command, as its 0.19.0 builds it; the skills say other things."""

from __future__ import annotations

_TEXT = (
    "# Deploy\n\nRun pytest, then review, refactor and document what you debug.\n\n[Skill directory: /skills/deploy]"
)
_ADDED = "\n\nThe user has provided the following instruction alongside the skill invocation: "
_SEVERAL = "loading 2 skills together. Treat every skill below as active guidance for this turn.]"
_PART = '\n\n[Loaded as part of the "release" skill bundle.]\n\n'
_BLOCKS = f"{_PART}{_TEXT}{_PART}# Changelog"
_STANDING = "\n\nBundle instruction: Be brief."

LOADED = (
    '[IMPORTANT: The user has invoked the "deploy" skill, indicating they want you to follow its instructions. The full'
    f" skill content is loaded below.]\n\n{_TEXT}"
)
BUNDLE = (
    f'[IMPORTANT: The user has invoked the "release" skill bundle, {_SEVERAL}\n\nBundle: release\n'
    "Skills loaded: devops/deploy, changelog"
)
STACKED = (
    f'[IMPORTANT: The user has invoked the "/deploy /changelog" stacked skill bundle, {_SEVERAL}\n\n'
    "Skills loaded: deploy, changelog"
)


def loaded(added: str, *, note: str = "", name: str = "deploy") -> str:
    """Return the message of one skill, to which a person added something; `note` is what Hermes adds behind that."""
    behind = f"\n\n[Runtime note: {note}]" if note else ""
    return LOADED.replace('"deploy"', f'"{name}"') + (_ADDED + added if added else "") + behind


def bundle(added: str, *, header: str = BUNDLE) -> str:
    """Return the message of several skills, to which a person added something."""
    return header + _STANDING + (f"\n\nUser instruction: {added}" if added else "") + _BLOCKS
