"""Units behind the paths that a person names: files, and folders with files."""

from __future__ import annotations

import os
from collections.abc import Sequence

from grader_daemon.domain.unit import Unit
from grader_daemon.errors import InputError
from grader_daemon.sources.discovery import Walk
from grader_daemon.sources.file_reading import read_beginning
from grader_daemon.sources.other_agents import not_read, writer_of
from grader_daemon.sources.protocol import Source, Sources

_BEGINNING = 4_096
_NONE = "no sessions are in it"
_NONE_BELOW = "no session files are below it"


def named_units(
    paths: Sequence[str], sources: Sources, *, read_as: Source | None = None
) -> tuple[list[Unit], list[tuple[str, str]]]:
    """Return the units of files that a person names, and those below folders in the order of their names.

    Beside them stands what is wrong with each folder without any, and each file of an agent that is not known. With
    `read_as` all are of that source, by the word of the person.

    Raises:
        InputError: a path does not exist.
    """
    units: list[Unit] = []
    empty: list[tuple[str, str]] = []
    for given in paths:
        path = os.path.abspath(given)
        if not given or not os.path.lexists(path):
            raise InputError(f"{path if given else 'an empty path'}: no such file or folder")
        found, why_none = _units_of(path, sources) if read_as is None else _units_as(path, read_as)
        units += found
        if not found:
            empty.append((path, why_none))
    return units, empty


def _units_of(path: str, sources: Sources) -> tuple[Sequence[Unit], str]:
    """Return the units of a path, and why there are none."""
    writer = None if sources.claims(path) else writer_of(path, read_beginning(path, _BEGINNING))
    if writer is not None:
        return (), not_read(writer)
    if _is_folder(path):
        walk = sources.walk_below(path)
        found = sorted(each.unit for each in walk)
        return found, "" if found else _why_empty(path, walk, sources)
    if sources.is_strange(path):
        return (), f"no agent known here writes this; known: {sources.titles}"
    return sources.named(path), _NONE


def _units_as(path: str, source: Source) -> tuple[Sequence[Unit], str]:
    """Return the same of a path whose files are of one source by the word of the person."""
    if _is_folder(path):
        return sorted(each.unit for each in source.walk(path)), _NONE_BELOW
    return units_in(path, source), _NONE


def _is_folder(path: str) -> bool:
    return os.path.isdir(path) and not os.path.islink(path)


def units_in(path: str, source: Source) -> Sequence[Unit]:
    """Return the units of a file that is one of this source, whatever its name is."""
    found = source.walk(os.path.dirname(path)).of_file(path)
    return [each.unit for each in found] or source.touched(path)


def _why_empty(folder: str, walk: Walk, sources: Sources) -> str:
    if folder in walk.unreadable:
        return "it cannot be read"
    strange = sources.strange_below(folder)
    if strange is None:
        return _NONE_BELOW
    return f"no agent known here writes what is below it ({os.path.relpath(strange, folder)}); known: {sources.titles}"
