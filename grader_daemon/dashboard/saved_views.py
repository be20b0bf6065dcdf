"""Lists of sessions that a person gave a name: what may be kept, and what each asks for."""

from __future__ import annotations

from typing import Final
from urllib.parse import parse_qsl, urlencode

from grader_daemon.api.context import GraderContext
from grader_daemon.domain.text import clean
from grader_daemon.errors import InputError

LONGEST_NAME: Final = 60
_MOST: Final = 50


def saved_views(context: GraderContext) -> dict[str, dict[str, str]]:
    """Return what each view asks for, by its name, in the order of the names."""
    return {name: dict(parse_qsl(query)) for name, query in context.store.saved_views.all().items()}


def save_view(context: GraderContext, name: str, asked: dict[str, str]) -> None:
    """Keep a view under a name; one of that name is replaced.

    Raises:
        InputError: it is no name, or there are too many views.
    """
    name = _checked(name)
    if len(saved_views(context).keys() - {name}) >= _MOST:
        raise InputError(f"{_MOST} views are kept at most: remove one first")
    with context.writable.transaction():
        context.writable.saved_views.save(name, urlencode(asked))


def rename_view(context: GraderContext, old: str, name: str) -> None:
    """Change the name of a view.

    Raises:
        InputError: it is no name, or that of another view.
    """
    name = _checked(name)
    if name in saved_views(context).keys() - {old}:
        raise InputError(f"there is a view named {name!r}: take another name, or remove that one")
    with context.writable.transaction():
        context.writable.saved_views.rename(old, name)


def remove_view(context: GraderContext, name: str) -> None:
    """Forget a view."""
    with context.writable.transaction():
        context.writable.saved_views.remove(name)


def _checked(name: str) -> str:
    """Return a name without spaces around it.

    Raises:
        InputError: nothing is left, or it is too long.
    """
    trimmed = clean(name).strip()
    if not 0 < len(trimmed) <= LONGEST_NAME:
        raise InputError(f"the name of a view has 1 to {LONGEST_NAME} characters")
    return trimmed
