"""Units behind the paths that a person names: files, and folders with files."""

from __future__ import annotations

import os
from collections.abc import Sequence

from grader_daemon.domain.unit import Unit
from grader_daemon.errors import InputError
from grader_daemon.sources.discovery import Walk
from grader_daemon.sources.protocol import Source, Sources


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
        if os.path.isdir(path) and not os.path.islink(path):
            walk = sources.walk_below(path) if read_as is None else read_as.walk(path)
            found = sorted(each.unit for each in walk)
            units += found
            if not found:
                empty.append((path, _why_empty(path, walk, sources)))
        elif read_as is None and sources.is_strange(path):
            empty.append((path, f"no agent known here writes this; known: {sources.titles}"))
        else:
            held = sources.named(path) if read_as is None else units_in(path, read_as)
            units += held
            if not held:
                empty.append((path, "no sessions are in it"))
    return units, empty


def units_in(path: str, source: Source) -> Sequence[Unit]:
    """Return the units of a file that is one of this source, whatever its name is."""
    found = source.walk(os.path.dirname(path)).of_file(path)
    return [each.unit for each in found] or source.touched(path)


def _why_empty(folder: str, walk: Walk, sources: Sources) -> str:
    if folder in walk.unreadable:
        return "it cannot be read"
    strange = sources.strange_below(folder)
    if strange is None:
        return "no session files are below it"
    return f"no agent known here writes what is below it ({os.path.relpath(strange, folder)}); known: {sources.titles}"
