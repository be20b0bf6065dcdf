"""Optional features: each a folder of its own above the core, and what it gives, by name, imported when it is used.

The core imports no wing, and no wing another. What a wing is asked for stands here, in one table.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import Any, Final, NamedTuple


class Wing(NamedTuple):
    """A folder of the package and what it gives, each as ``module:name`` below the folder.

    `commands` are given with their lines of help. Each of `jobs` is called with the settings, the store and
    `is_settled` (true while nothing waits to be graded), and returns the periodic jobs of the daemon, none where the
    settings ask for none. `parts` are attributes of `SelfGrader`, made with its context.
    """

    name: str
    commands: Mapping[str, tuple[str, str]] = {}
    jobs: tuple[str, ...] = ()
    parts: Mapping[str, str] = {}


WINGS: Final = (
    Wing(
        "archive",
        commands={
            "archive": ("commands:command", "Grade an archive of old sessions, here or at an address, on a cluster."),
        },
    ),
    Wing(
        "routing",
        commands={"route": ("commands:command", "Which model to prefer for which type of task.")},
        jobs=("job:route_jobs",),
        parts={"routing": "advice:Advice"},
    ),
)


def given(wing: str, what: str) -> Any:
    """Import what a wing gives, as ``module:name``."""
    module, _, name = what.partition(":")
    return getattr(import_module(f"grader_daemon.{wing}.{module}"), name)


def given_by_all(what: str) -> Iterator[Any]:
    """Import what all wings give of a kind that is a tuple, as `jobs`."""
    for wing in WINGS:
        yield from (given(wing.name, each) for each in getattr(wing, what))


def part(name: str) -> Any:
    """Import the class of a part of `SelfGrader`."""
    return next(given(wing.name, wing.parts[name]) for wing in WINGS if name in wing.parts)
