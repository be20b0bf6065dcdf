"""Names of trials: a skill, a prompt file or a path, to the file that is switched and the agent that reads it."""

from __future__ import annotations

import os
from typing import Final, NamedTuple

from grader_daemon.domain.installed import InstalledKind
from grader_daemon.errors import InputError, NotFoundError
from grader_daemon.skills.places import SKILL_FILE, Installed, name_of
from grader_daemon.skills.switched_file import HELD

_PROMPT_FILE: Final = ".md"
_NOT_A_TRIAL: Final = "only a skill or a .md file in the home of a graded agent can be switched"


class Subject(NamedTuple):
    """The subject of a trial: its name, the agent that reads it, and the file or link that is switched."""

    name: str
    agent: str
    path: str


def subject_of(installed: Installed, name: str) -> Subject:
    """Return what a name or a path stands for.

    Raises:
        InputError: nothing or several have it, or it cannot be switched safely.
    """
    found = [_at_path(installed, name)] if os.sep in name else _named(installed, name)
    if not found:
        raise NotFoundError(f"no graded agent has a skill or prompt file {name!r}; see grader-daemon skills")
    if len(found) > 1:
        raise InputError(f"several are called {name}, give a path: {', '.join(each.path for each in found)}")
    _refuse_unsafe(installed, found[0])
    return found[0]


def _at_path(installed: Installed, name: str) -> Subject:
    path = os.path.abspath(os.path.expanduser(name))
    agent = next((agent for agent, home in installed.homes if path.startswith(home + os.sep)), None)
    if agent is None:
        raise InputError(f"{path}: {_NOT_A_TRIAL}")
    if os.path.basename(path) == SKILL_FILE:
        path = os.path.dirname(path)
    if os.path.lexists(os.path.join(path, SKILL_FILE)):
        return _skill(agent, path)
    if not path.endswith(_PROMPT_FILE) or not os.path.isfile(path):
        raise InputError(f"{path}: {_NOT_A_TRIAL}")
    return Subject(os.path.basename(path), agent, path)


def _named(installed: Installed, name: str) -> list[Subject]:
    """Return the skills of this name, folders and links, and the prompt files."""
    found = [
        _skill(place.agent, place.path)._replace(name=name)
        for place in installed.places()
        if place.kind is InstalledKind.SKILL and place.agent is not None and name_of(place) == name
    ]
    for agent, home in installed.homes:
        link = os.path.join(home, "skills", name)
        if os.path.islink(link) and os.path.lexists(os.path.join(link, SKILL_FILE)):
            found.append(_skill(agent, link))
        if name.endswith(_PROMPT_FILE) and os.path.isfile(os.path.join(home, name)):
            found.append(Subject(name, agent, os.path.join(home, name)))
    return found


def _skill(agent: str, folder: str) -> Subject:
    """Return a skill; of a folder, its ``SKILL.md`` is switched: agents look for that, also in a folder renamed."""
    return Subject(
        os.path.basename(folder), agent, folder if os.path.islink(folder) else os.path.join(folder, SKILL_FILE)
    )


def _refuse_unsafe(installed: Installed, subject: Subject) -> None:
    """Raise InputError for a file behind a link of a folder, whose rename others would see, and for one in git."""
    folder = os.path.dirname(subject.path)
    home = next(home for _, home in installed.homes if subject.path.startswith(home + os.sep))
    real = os.path.realpath(folder)
    if real != os.path.join(os.path.realpath(home), os.path.relpath(folder, home)).removesuffix("/."):
        raise InputError(f"{folder} is behind a link: others may read it too; try another file")
    while True:
        if os.path.lexists(os.path.join(real, ".git")):
            raise InputError(f"{subject.path} is in the git repository {real}, which would show it as deleted")
        if real == os.path.dirname(real):
            return
        real = os.path.dirname(real)


def held_words(subject: Subject) -> str:
    """Return what happens to a subject while it is away."""
    if os.path.islink(subject.path):
        return f"removes the link {subject.path} or makes it again"
    return f"renames {subject.path} to {os.path.basename(subject.path)}{HELD} or back"
