"""Skills and configuration files that agents have installed, and the versions seen of them."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum
from typing import Final, NamedTuple

import msgspec

MOST_VERSIONS: Final = 200
"""Most versions kept of one path: a file that a program rewrites time and again does not fill the database."""


class InstalledKind(StrEnum):
    """Kind of an installed item: a folder with a ``SKILL.md``, or a configuration file."""

    SKILL = "skill"
    CONFIGURATION = "configuration"


class SkillHow(StrEnum):
    """The way a session used a skill: it loaded it, a person had it loaded by a command, or it wrote it."""

    VIEW = "view"
    COMMAND = "command"
    MANAGE = "manage"

    @property
    def is_use(self) -> bool:
        """True if the skill was used; who only writes one does not use it."""
        return self is not SkillHow.MANAGE


class SkillUse(NamedTuple):
    """A skill that a session used, and one of the ways in which it used it."""

    name: str
    how: SkillHow


class ObservedVersion(msgspec.Struct, frozen=True, kw_only=True):
    """A version of a skill or configuration file and its time on disk; a version that returns is another row.

    Attributes:
        name: a skill's name for agents, or a configuration file's name.
        agent: its agent, by the name of the source; None if any agent may use it.
        path: the folder of the skill, or the file.
        digest: digest of its whole content, 32 hex digits of XXH3. The content itself is not stored.
        bytes: its size.
        written_at: its modification time in the file system, which `cp -p` and `git checkout` may falsify.
        first_seen: when it was noticed; the edit was up to a minute earlier, or while no daemon was running.
        last_seen: when it was last seen there, to within an hour.
        gone_at: when its removal was noticed; None while it is there, or if another version replaced it.
    """

    kind: InstalledKind
    name: str
    agent: str | None
    path: str
    digest: str
    bytes: int
    written_at: datetime
    first_seen: datetime
    last_seen: datetime
    gone_at: datetime | None = None


class InstalledSkill(msgspec.Struct, frozen=True, kw_only=True):
    """A skill on disk now.

    Attributes:
        name: its name for agents, from its ``SKILL.md``, else the name of its folder.
        description: its own description; None if that cannot be read.
        agent: its agent, by the name of the source; None if any agent may use it.
        path: its folder.
        bundled: whether it came with the agent, which may replace it.
        problem: why agents may not see it, in one line; None if there is no problem.
    """

    name: str
    description: str | None
    agent: str | None
    path: str
    bundled: bool
    problem: str | None
