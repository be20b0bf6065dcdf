"""A hook in the settings of an agent: put there, and taken back so that the file is as it was.

A copy of each agent's file from before, and a note of what was written, lie in a folder beside the settings. They are
not beside the database: the daemon can write its folder, and `uninstall` writes the copy back where the agent reads.
"""

from __future__ import annotations

import os
import shlex
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec

from grader_daemon.errors import ConfigurationError, InputError, OutputError
from grader_daemon.hook import ask
from grader_daemon.hook.hooked_agents import AGENTS, Agent, Mode
from grader_daemon.integrations.files import OWNER_ONLY, replace_file
from grader_daemon.setting_sources import absolute

if TYPE_CHECKING:
    from grader_daemon.settings import Settings

_FOLDER: Final = "~/.config/grader-daemon/hooks"
_NOTE: Final = ".json"
_BEFORE: Final = ".before"
_MOST_BYTES: Final = 4_194_304
LONGEST_PATH: Final = 100
"""Bytes of a path that every system takes for a socket; a longer one is opened by way of its folder."""


class Hook(msgspec.Struct, frozen=True, kw_only=True):
    """A hook that was installed.

    agent: the name of the agent.
    database: the database whose daemon it asks.
    mode: what is made of what it finds.
    file: the file of settings that it stands in.
    command: what stands there.
    written: the text of the file as it was written then.
    is_new: there was no file before.
    """

    agent: str
    database: str
    mode: Mode
    file: str
    command: str
    written: str
    is_new: bool


class Change(msgspec.Struct, frozen=True):
    """A change of a file that a person is shown before it is made; None where there is no file."""

    file: Path
    before: str | None
    after: str | None


class Hooks:
    """The hooks of the agents of this user, for one database."""

    def __init__(self, settings: Settings) -> None:
        """Beside the database of the settings listens the daemon that is asked.

        Raises:
            ConfigurationError: the home folder is not known.
        """
        try:
            self._folder = absolute(Path(_FOLDER))
        except ValueError as error:
            raise ConfigurationError(f"hooks: {error}; set HOME") from error
        self._database = str(settings.db_path)
        self._socket = str(socket_of(settings.db_path))
        self._milliseconds = str(settings.hook_milliseconds)

    def installed(self) -> list[Hook]:
        """Return the hooks that were installed, in the order of `AGENTS`."""
        found = map(self._hook, AGENTS)
        return [hook for hook in found if hook is not None and hook.database == self._database]

    def stands(self, hook: Hook) -> bool:
        """Return whether a hook stands in the file that it was put into."""
        return AGENTS[hook.agent].edit.holds(_text(Path(hook.file)) or "", hook.command)

    def leads(self, hook: Hook) -> bool:
        """Return whether what a hook runs is there: a package that moved has left it behind."""
        return hook.command == self._command(AGENTS[hook.agent], hook.mode)

    def planned(self, agent: Agent, mode: Mode, *, file: Path | None = None) -> tuple[Hook, Change]:
        """Return what would be installed; `file`: not into the agent's usual file of settings.

        Raises:
            InputError: the agent's file cannot be changed, or the hook is there.
        """
        file = _real(agent.settings() if file is None else file)
        known = self._hook(agent.name)
        if known is not None and self.stands(known):
            of = "" if known.database == self._database else f" --db-path {shlex.quote(known.database)}"
            raise InputError(
                f"{agent.title} already has the hook (--mode {known.mode}); first run: hook uninstall {agent.name}{of}"
            )
        before = _text(file)
        command = self._command(agent, mode)
        with _told_of(file):
            after = agent.edit.added(before, command)
        hook = Hook(
            agent=agent.name,
            database=self._database,
            mode=mode,
            file=str(file),
            command=command,
            written=after,
            is_new=before is None,
        )
        return hook, Change(file, before, after)

    def install(self, hook: Hook, change: Change) -> None:
        """Make a planned change, and keep a copy of the file as it was before.

        Raises:
            InputError: the file was changed since it was planned.
            OutputError: it cannot be written.
        """
        try:
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError as error:
            raise OutputError(f"{self._folder}: cannot be made: {error.strerror}") from error
        if change.before is not None:
            _write(self._folder / f"{hook.agent}{_BEFORE}", change.before)
        _write(self._folder / f"{hook.agent}{_NOTE}", msgspec.json.encode(hook).decode())
        _make(change)

    def unplanned(self, agent: Agent) -> tuple[Hook, Change]:
        """Return how the hook of an agent would be taken out.

        Raises:
            InputError: none was installed, or the agent's file cannot be changed.
        """
        hook = self._hook(agent.name)
        if hook is None or hook.database != self._database:
            raise InputError(f"{agent.title} has no hook for this database")
        file = Path(hook.file)
        now = _text(file)
        if now == hook.written:
            return hook, Change(file, now, None if hook.is_new else _text(self._folder / f"{hook.agent}{_BEFORE}"))
        with _told_of(file):
            after = now if now is None else agent.edit.removed(now, hook.command)
        return hook, Change(file, now, after)

    def uninstall(self, hook: Hook, change: Change) -> None:
        """Make a planned change, and forget the hook.

        Raises:
            InputError: the file was changed since it was planned.
            OutputError: it cannot be written.
        """
        _make(change)
        for end in (_NOTE, _BEFORE):
            (self._folder / f"{hook.agent}{end}").unlink(missing_ok=True)

    def _hook(self, agent: str) -> Hook | None:
        text = _text(self._folder / f"{agent}{_NOTE}")
        try:
            return None if text is None else msgspec.json.decode(text, type=Hook)
        except msgspec.MsgspecError as error:
            raise InputError(
                f"{self._folder / agent}{_NOTE}: damaged; delete it and install the hook again: {error}"
            ) from error

    def _command(self, agent: Agent, mode: Mode) -> str:
        """Return what the agent runs; where the program is gone it does nothing, and says nothing.

        Python ends with 2 where a file is not there, by which an agent would take a stop for blocked.
        """
        python = [os.path.realpath(sys.executable), "-I", "-S"]
        program = [*python, ask.__file__, self._socket, agent.name, mode, self._milliseconds]
        quiet = f"{shlex.join(program)} 2>/dev/null || true"
        return shlex.join(["/bin/sh", "-c", quiet])


def socket_of(database: Path) -> Path:
    """Return where the daemon of a database listens: beside it, in a folder of this user alone."""
    return database.with_name(f"{database.name}.hook")


def _real(file: Path) -> Path:
    """Return the file itself, where a link leads to it."""
    real = Path(os.path.realpath(file))
    if not real.parent.is_dir():
        raise InputError(f"{real.parent}: no such folder; give the agent's settings file with --file")
    return real


def _text(file: Path) -> str | None:
    try:
        with file.open("rb") as opened:
            content = opened.read(_MOST_BYTES + 1)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise InputError(f"{file}: {error.strerror}") from error
    if len(content) > _MOST_BYTES:
        raise InputError(f"{file}: it is larger than {_MOST_BYTES:,} bytes")
    try:
        return content.decode()
    except UnicodeDecodeError as error:
        raise InputError(f"{file}: it is not UTF-8 text") from error


def _make(change: Change) -> None:
    if _text(change.file) != change.before:
        raise InputError(f"{change.file}: it was changed meanwhile; try again")
    if change.after is None:
        change.file.unlink(missing_ok=True)
    elif change.after != change.before:
        _write(change.file, change.after)


def _write(file: Path, text: str) -> None:
    try:
        mode = stat.S_IMODE(file.stat().st_mode) if file.exists() else OWNER_ONLY
        replace_file(file, text, mode=mode)
    except OSError as error:
        raise OutputError(f"{file}: cannot be written: {error.strerror}") from error


@contextmanager
def _told_of(file: Path) -> Iterator[None]:
    """Name the file in what is wrong with it."""
    try:
        yield
    except InputError as error:
        raise InputError(f"{file}: {error}") from error
