"""Any service in the hands of the user's own launchd: put in place, asked how it is, taken away; as by systemd."""

from __future__ import annotations

import plistlib
import time
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Final

from grader_daemon import bootstrap
from grader_daemon._version import __version__
from grader_daemon.errors import ConfigurationError, ServiceError
from grader_daemon.service import named
from grader_daemon.service.install import Installation, ServiceStatus
from grader_daemon.service.installed_file import make_folders
from grader_daemon.service.launchd import InstalledJob, JobState, LaunchAgents, label, log_file, written_list
from grader_daemon.service.unit_value import Fit
from grader_daemon.system.running import running_seconds

if TYPE_CHECKING:
    from grader_daemon.settings import Settings

_STARTS_WITHIN: Final = 20
_LOOKS_EVERY_SECONDS: Final = 0.5


class LaunchAgent:
    """A unit of the table, and what launchd makes of it."""

    def __init__(self, name: str) -> None:
        """Find launchd.

        Raises:
            ServiceError: there is none for this user.
        """
        self._agents = LaunchAgents()
        self.unit = named(name)
        self._label = label(self.unit)
        self._file = InstalledJob(self._agents.folder / f"{self._label}.plist")

    def install(self, settings: Settings, *, force: bool = False) -> Installation:
        """Write its list as it fits these settings, and have it run as written, from now on and with each session.

        What flags and environment say of `settings` is passed on to it. `force` replaces a list that somebody edited,
        and keeps a copy.

        Raises:
            GraderError: it may not be installed, see `Unit.check`, or a setting cannot be passed on; nothing was
                changed.
            ServiceError: somebody edited the list, and nothing was changed; launchd did not do it, or the program
                ended.
        """
        before = self._agents.state(self._label)
        if self.unit.check is not None:
            self.unit.check(settings, before.pid)
        fit = self.unit.fit(settings)
        text = written_list(self.unit, fit, version=__version__)
        if not force:
            self._file.refuse_if_edited(text)
        kept = self._file.keep_if_edited(text)
        make_folders([*fit.writable, settings.given.file.parent, log_file(self.unit.name).parent])
        written = self._file.write(text)
        started = written or before.pid is None or self._asks_anew(fit)
        if written or not before.loaded:
            self._agents.unload(self._label)
            self._agents.load(self._label, self._file.path)
        elif started:
            self._agents.restart(self._label)
        return Installation(
            units=(self._file.path,),
            written=written,
            kept=() if kept is None else (kept,),
            enabled=not before.loaded,
            started=started,
            pid=self._running().pid,
            writable=(),
            network=(),
            programs=(),
            user=self._agents.user,
            lingers=None,
        )

    def uninstall(self) -> str | None:
        """Stop it, and remove its list; return the folder that it wrote in, which stays. None: there was none.

        Raises:
            ServiceError: launchd did not do it.
        """
        text = self._file.read()
        if text is None:
            return None
        self._agents.unload(self._label)
        self._file.path.unlink()
        return _folder(text)

    def status(self, settings: Settings) -> ServiceStatus:
        """Return how its process is, and whether its list fits these settings."""
        state, text = self._agents.state(self._label), self._file.read()
        return ServiceStatus(
            installed=text is not None,
            running=state.pid is not None,
            enabled=state.loaded,
            state=state.word,
            pid=state.pid,
            since=None if state.pid is None else _since(state.pid),
            says=None,
            restarts=max(0, state.runs - 1),
            ended=None if state.pid is not None else _ended(state),
            ended_at=None,
            edited=self._file.is_edited,
            outdated=text is not None and not self._file.is_edited and not self._fits(text, settings),
            unit=str(self._file.path),
            user=self._agents.user,
            lingers=None,
        )

    def _fits(self, text: str, settings: Settings) -> bool:
        try:
            fit = self.unit.fit(settings)
        except ConfigurationError:  # `install` says what is missing, or cannot be passed on
            return False
        return text == written_list(self.unit, fit, version=__version__) and not self._asks_anew(fit)

    def _asks_anew(self, fit: Fit) -> bool:
        """Return whether what it read once was written since its list was, at which it was started at the latest."""
        written_at = self._file.path.stat().st_mtime
        return any(file.stat().st_mtime > written_at for file in fit.read_once if file.exists())

    def _running(self) -> JobState:
        """Wait until it runs, and see that it goes on.

        Raises:
            ServiceError: it does not.
        """
        pid = None
        for _ in range(_STARTS_WITHIN):
            state = self._agents.state(self._label)
            if state.pid is not None and state.pid == pid:
                return state
            pid = state.pid
            time.sleep(_LOOKS_EVERY_SECONDS)
        why = _ended(state) or state.word
        raise ServiceError(f"{self._label} {self.unit.failed}: {why}; see {log_file(self.unit.name)}")


def _since(pid: int) -> datetime | None:
    """Return when a process began; None where it ended meanwhile."""
    try:
        return bootstrap.utc_now() - timedelta(seconds=running_seconds(pid))
    except OSError:
        return None


def _folder(text: str) -> str:
    """Return the folder that it works in; "" of a list that nobody can read any more."""
    try:
        return str(plistlib.loads(text.encode())["WorkingDirectory"])
    except (plistlib.InvalidFileException, ValueError, SyntaxError, KeyError):
        return ""


def _ended(state: JobState) -> str | None:
    """Return how the last process ended."""
    if state.signal is not None:
        return f"ended by {state.signal}"
    return None if state.exit_code is None else f"exit code {state.exit_code}"
