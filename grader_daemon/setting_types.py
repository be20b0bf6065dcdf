"""Types of settings: how values are read that flag, environment or file give as text."""

from __future__ import annotations

import json
import os
import shlex
from pathlib import Path
from typing import Annotated, Any

from pydantic import BeforeValidator, Field


def _listed(value: Any) -> Any:
    """Return a list: one text is its only item, unless it is written as a list, which in the environment is JSON."""
    if not isinstance(value, str | os.PathLike):
        return value
    if not str(value).lstrip().startswith("["):
        return [value]
    try:
        return json.loads(str(value))
    except (ValueError, RecursionError):
        raise ValueError('it begins as a list, and is none; write one as ["a", "b"]') from None


def _paths(value: Any) -> Any:
    paths = _listed(value)
    if isinstance(value, str) and paths == [value] and os.pathsep in value:
        raise ValueError('several folders, or one with a colon in its name, are written as ["/a", "/b"]')
    return [_path(path) for path in paths] if isinstance(paths, list | tuple) else paths


def _path(value: Any) -> Any:
    """Refuse what would silently be the folder that one happens to be in."""
    if value == "":
        raise ValueError("a path is expected, not an empty text")
    return value


def _words(value: Any) -> Any:
    words = _listed(value)
    if isinstance(value, str) and words == [value] and shlex.quote(value) != value:
        raise ValueError('a program and its arguments are written as ["notify-send", "Alert"]')
    return words


Seconds = Annotated[float, Field(allow_inf_nan=False)]
Pauses = Annotated[tuple[Annotated[Seconds, Field(ge=0, le=2_592_000)], ...], BeforeValidator(_listed)]
File = Annotated[Path, BeforeValidator(_path)]
Paths = Annotated[tuple[Path, ...], BeforeValidator(_paths)]
Words = Annotated[tuple[str, ...], BeforeValidator(_words)]
