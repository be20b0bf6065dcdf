"""Agents at work below a folder, as far as their homes show: do they leave session files at all?

Hermes Agent 0.13 and 0.14 always write session files. 0.15 to 0.19 do only when `config.yaml` says
``sessions.write_json_snapshots: true``, builds of the main branch since September 2026 never. All of them keep
``state.db``, so one that is newer than every session file tells that an agent works unseen.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import msgspec

_SET = re.compile(r"""\bwrite_json_snapshots["']?\s*:\s*["']?(\w+)""")
_YES = frozenset(("true", "yes", "on"))
_LONGEST_CONFIGURATION = 1_000_000


class HermesHome(msgspec.Struct, frozen=True, kw_only=True):
    """A home of Hermes Agent. Times are in seconds since 1970; `newest_session` is None without any session file.

    `writes_snapshots` is what its `config.yaml` says of session files; None when that says nothing.
    """

    path: str
    worked_at: float
    newest_session: float | None
    writes_snapshots: bool | None


class Survey(msgspec.Struct, frozen=True, kw_only=True):
    """What lies below a folder. `unreadable` names folders that could not be listed."""

    folders: int
    unreadable: tuple[str, ...]
    homes: tuple[HermesHome, ...]


def survey(root: Path) -> Survey:
    """Walk below a folder, links not followed."""
    folders, unreadable, homes = 0, [], []
    pending = [str(root)]
    while pending:
        folder = pending.pop()
        try:
            with os.scandir(folder) as entries:
                names = {entry.name: entry.is_dir(follow_symlinks=False) for entry in entries}
        except OSError:
            unreadable.append(folder)
            continue
        folders += 1
        pending += [os.path.join(folder, name) for name, is_folder in names.items() if is_folder]
        if names.get("state.db") is False and ("config.yaml" in names or "sessions" in names):
            homes += [home for home in [look_at_home(folder)] if home is not None]
    return Survey(folders=folders, unreadable=tuple(unreadable), homes=tuple(homes))


def look_at_home(folder: str) -> HermesHome | None:
    """Look at one home; None when it holds no `state.db`."""
    worked = [_written_at(os.path.join(folder, name)) for name in ("state.db", "state.db-wal")]
    if worked[0] is None:
        return None
    return HermesHome(
        path=folder,
        worked_at=max(moment for moment in worked if moment is not None),
        newest_session=max(_session_times(os.path.join(folder, "sessions")), default=None),
        writes_snapshots=_says_snapshots(os.path.join(folder, "config.yaml")),
    )


def default_home() -> str:
    """Return the home of the agent that this user runs, whether it is there or not."""
    return os.environ.get("HERMES_HOME") or os.path.expanduser("~/.hermes")


def is_home(folder: str) -> bool:
    """Does Hermes work in this folder, or did it leave sessions there?"""
    return os.path.lexists(os.path.join(folder, "state.db")) or count_sessions(folder) > 0


def count_sessions(home: str) -> int:
    """Count the session files of a home by their names alone, which is quick however many there are."""
    with suppress(OSError):
        return sum(map(_is_session, os.listdir(os.path.join(home, "sessions"))))
    return 0


def _session_times(folder: str) -> Iterator[float]:
    with suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            if _is_session(entry.name):
                with suppress(OSError):
                    yield entry.stat(follow_symlinks=False).st_mtime


def _is_session(name: str) -> bool:
    return name.startswith("session_") and name.endswith(".json")


def _says_snapshots(configuration: str) -> bool | None:
    """Search the lines of a YAML file: the last that sets it counts, comments do not."""
    try:
        if not stat.S_ISREG(os.stat(configuration).st_mode):
            return None
        with open(configuration, encoding="utf-8", errors="replace") as file:
            text = file.read(_LONGEST_CONFIGURATION)
    except OSError:
        return None
    said = [match for line in text.splitlines() for match in _SET.findall(line.partition("#")[0])]
    return said[-1].lower() in _YES if said else None


def _written_at(path: str) -> float | None:
    try:
        return os.lstat(path).st_mtime
    except OSError:
        return None
