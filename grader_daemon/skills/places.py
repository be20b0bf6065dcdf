"""Places of agents' skills and configuration, and what of it is there."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple, Self

from grader_daemon.bootstrap import roots_of
from grader_daemon.domain.installed import InstalledKind, InstalledSkill
from grader_daemon.domain.unit import shown_path
from grader_daemon.skills.content import MADE_BY_RUNNING, read_beginning
from grader_daemon.skills.front_matter import MOST_BYTES, FrontMatter, read_front_matter

if TYPE_CHECKING:
    from grader_daemon.settings import Settings

SKILL_FILE: Final = "SKILL.md"
_CONFIGURATION: Final[Mapping[str, tuple[str, ...]]] = {
    "hermes": ("config.yaml", "SOUL.md", "AGENTS.md"),
    "claude-code": ("settings.json", "CLAUDE.md"),
    "codex": ("config.toml", "AGENTS.md"),
    "opencode": ("opencode.json", "opencode.jsonc", "AGENTS.md"),
    "gemini-cli": ("settings.json", "GEMINI.md"),
    "qwen-code": ("settings.json", "QWEN.md"),
    "copilot": ("settings.json", "mcp-config.json", "copilot-instructions.md"),
    "pi": ("settings.json", "AGENTS.md", "SYSTEM.md"),
}
"""Files in the home of each agent that people write and every session reads."""
_SESSIONS: Final = frozenset({"sessions", "archived_sessions", "projects", "tmp", "session-state"})
"""Folders of a home that hold its sessions alone."""
_SYSTEM: Final = ".system"
"""Codex puts what comes with it into ``skills/.system``."""
_MANIFEST: Final = ".bundled_manifest"
"""Hermes lists in ``skills/.bundled_manifest`` what came with it: lines of name, colon, digest."""
_MOST_FOLDERS: Final = 2_000
_DEEPEST: Final = 3


class Place(NamedTuple):
    """A skill or a configuration file that is there: the folder or file, whose it is, and the root that it is below."""

    kind: InstalledKind
    path: str
    agent: str | None
    root: str


class Installed:
    """Skills and configuration files that agents have installed."""

    def __init__(self, roots: Mapping[str, Sequence[str]], *, skill_roots: Sequence[str]) -> None:
        """`roots` are the folders with sessions of each agent, `skill_roots` other folders with skills."""
        self._homes = [(agent, home) for agent, paths in roots.items() for home in _homes(agent, paths)]
        below_homes = {os.path.join(home, "skills"): agent for agent, home in self._homes}
        self._skill_roots: dict[str, str | None] = {**dict.fromkeys(skill_roots), **below_homes}
        self._asked_for = frozenset(skill_roots)

    @classmethod
    def of(cls, settings: Settings) -> Self:
        """Return what the agents whose sessions are graded have installed, and are set up with."""
        roots = {str(name): roots_of(settings, name) for name in settings.sources}
        return cls(roots, skill_roots=[str(root) for root in settings.skill_roots])

    def places(self) -> Iterator[Place]:
        """Yield every skill and configuration file that is there; what cannot be entered is passed over."""
        for root, agent in self._skill_roots.items():
            for folder in _skill_folders(root):
                yield Place(InstalledKind.SKILL, folder, agent, root)
        for agent, home in self._homes:
            for name in _CONFIGURATION.get(agent, ()):
                path = os.path.join(home, name)
                if os.path.isfile(path) and not os.path.islink(path):
                    yield Place(InstalledKind.CONFIGURATION, path, agent, home)

    @property
    def homes(self) -> list[tuple[str, str]]:
        """The agents, each with a folder in which it keeps its configuration."""
        return list(self._homes)

    @property
    def looked_at(self) -> list[str]:
        """The folders with skills, and the files, that are looked at, whether they are there or not."""
        files = [os.path.join(home, name) for agent, home in self._homes for name in _CONFIGURATION.get(agent, ())]
        return [*self._skill_roots, *files]

    def skills(self) -> list[InstalledSkill]:
        """Return every skill that is there, sound or not."""
        bundled = {root: _bundled(root) for root in self._skill_roots}
        places = [place for place in self.places() if place.kind is InstalledKind.SKILL]
        return [_skill(place, bundled[place.root]) for place in places]

    def unreadable(self) -> dict[str, str]:
        """Return the folders that cannot be listed, each with the reason; one need not be there unless it is set."""
        found = {}
        for root in self._skill_roots:
            try:
                os.scandir(root).close()
            except OSError as error:
                if root in self._asked_for or not isinstance(error, FileNotFoundError):
                    found[root] = error.strerror or str(error)
        return found


def is_gone(kind: InstalledKind, path: str) -> bool:
    """Return whether a skill or file that lay there is gone; one that cannot be looked at may still be there."""
    try:
        os.lstat(os.path.join(path, SKILL_FILE) if kind is InstalledKind.SKILL else path)
    except (FileNotFoundError, NotADirectoryError):
        return True
    except OSError:
        return False
    return False


def name_of(place: Place) -> str:
    """Return what a skill or file is called."""
    if place.kind is InstalledKind.SKILL:
        return _name(place, _front_matter(place))
    return shown_path(os.path.basename(place.path))


def _homes(agent: str, roots: Sequence[str]) -> list[str]:
    if agent == "opencode":  # its sessions lie elsewhere
        return [os.path.join(os.environ.get("XDG_CONFIG_HOME") or os.path.expanduser("~/.config"), agent)]
    if agent == "openclaw":  # they lie below it, in a folder of each of its agents
        return [os.path.dirname(root.rstrip(os.sep)) for root in roots]
    paths = [root.rstrip(os.sep) for root in roots]
    homes = [os.path.dirname(path) if os.path.basename(path) in _SESSIONS else path for path in paths]
    return list(dict.fromkeys(homes))


def _skill_folders(root: str) -> Iterator[str]:
    pending = deque([(root, 0)])
    seen = 0
    while pending and seen < _MOST_FOLDERS:
        folder, depth = pending.popleft()
        seen += 1
        try:
            with os.scandir(folder) as entries:
                found = sorted(entries, key=lambda entry: entry.name)
        except OSError:
            continue
        if any(entry.name == SKILL_FILE for entry in found):
            yield folder
        elif depth < _DEEPEST:
            below = [entry for entry in found if _may_hold_skills(entry)]
            pending.extend((entry.path, depth + 1) for entry in below)


def _may_hold_skills(entry: os.DirEntry[str]) -> bool:
    if entry.name in MADE_BY_RUNNING or (entry.name.startswith(".") and entry.name != _SYSTEM):
        return False
    return entry.is_dir(follow_symlinks=False)


def _skill(place: Place, bundled: frozenset[str]) -> InstalledSkill:
    matter = _front_matter(place)
    name = _name(place, matter)
    return InstalledSkill(
        name=name,
        description=matter.description,
        agent=place.agent,
        path=shown_path(place.path),
        bundled=name in bundled or f"{os.sep}{_SYSTEM}{os.sep}" in place.path,
        problem=matter.problem,
    )


def _name(place: Place, matter: FrontMatter) -> str:
    return matter.name or shown_path(os.path.basename(place.path))


def _front_matter(place: Place) -> FrontMatter:
    try:
        return read_front_matter(read_beginning(os.path.join(place.path, SKILL_FILE), MOST_BYTES))
    except OSError as error:
        return FrontMatter(problem=f"SKILL.md cannot be read: {error.strerror}")


def _bundled(root: str) -> frozenset[str]:
    try:
        lines = read_beginning(os.path.join(root, _MANIFEST), MOST_BYTES).decode("utf-8", "replace").splitlines()
    except OSError:
        return frozenset()
    return frozenset(line.partition(":")[0].strip() for line in lines)
