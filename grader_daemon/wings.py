"""Optional features: each a folder of its own above the core, and what it gives, by name, imported when it is used.

The core imports no wing, and no wing another. What a wing is asked for stands here, in one table.
"""

from __future__ import annotations

from typing import Final, NamedTuple


class Wing(NamedTuple):
    """A folder of the package and what it gives; names of modules are below the folder.

    `commands` are the module and the line of help of each command, by its name; the command is `command` of the module
    unless another name stands behind a colon.
    """

    name: str
    commands: dict[str, tuple[str, str]]


WINGS: Final = (
    Wing(
        "archive",
        commands={"archive": ("commands", "Grade an archive of old sessions, here or at an address, on a cluster.")},
    ),
)
