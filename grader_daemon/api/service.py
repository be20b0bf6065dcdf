"""The daemon as a service of this user: put it in place, ask how it is, take it away.

What is put in place is a function of the settings: the same settings change nothing, others are put in force.
"""

from __future__ import annotations

import itertools
import json
import os
import signal
import sys
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path

import msgspec
from pydantic import SecretStr

from grader_daemon import bootstrap
from grader_daemon._version import __version__
from grader_daemon.api.context import watched_roots
from grader_daemon.errors import AlreadyRunningError, ConfigurationError, ServiceError
from grader_daemon.integrations.files import replace_file
from grader_daemon.integrations.machine import unit_file
from grader_daemon.integrations.systemd import LogEntry, UnitState, UserManager
from grader_daemon.integrations.unit_file import UNIT, Fit, directives, edits, fitted_unit, is_edited, words_of
from grader_daemon.setting_sources import CONFIG_VARIABLE, ENVIRONMENT_PREFIX, Source
from grader_daemon.settings import Settings
from grader_daemon.storage.lock import holder_pid, is_running

_TOLD_EDITS = 4
_EXIT_CODES = {
    78: "the configuration is wrong",
    203: "its program is gone",
    217: "its sandbox cannot be set up: this machine allows no user namespaces",
    226: "its sandbox cannot be set up: the folder of the database is missing, or user namespaces are not allowed",
}
"""What exit codes mean beside those of the daemon itself; from 200 on they are systemd's (systemd.exec(5))."""


class Installation(msgspec.Struct, frozen=True, kw_only=True):
    """What `UserService.install` did, and how things stand then; `unit.Fit` says what `network` and `programs` mean.

    `kept` is the copy of an edited unit that was replaced.
    """

    unit: Path
    written: bool
    kept: Path | None
    enabled: bool
    started: bool
    pid: int | None
    writable: tuple[Path, ...]
    network: tuple[str, ...]
    programs: tuple[str, ...]
    user: str
    lingers: bool | None


class ServiceStatus(msgspec.Struct, frozen=True, kw_only=True):
    """How the service is.

    `state` is systemd's word; `ended` says how the last process ended, while none runs. `lingers` is None where that
    is not known. `outdated` says that the unit is not what the settings, or this version, ask for.
    """

    installed: bool
    running: bool
    enabled: bool
    state: str
    pid: int | None
    since: datetime | None
    says: str | None
    restarts: int
    ended: str | None
    ended_at: datetime | None
    edited: bool
    outdated: bool
    unit: str
    user: str
    lingers: bool | None


class UserService:
    """The service, in the hands of the user's own systemd."""

    def __init__(self, *, clock: bootstrap.Clock) -> None:
        """Find systemd.

        Raises:
            ServiceError: there is none for this user.
        """
        self._manager = UserManager()
        self._clock = clock
        self._path = self._manager.units / UNIT

    def install(self, settings: Settings, *, force: bool = False) -> Installation:
        """Write the unit, enable it, and have it run as written; wait until the daemon is ready.

        What flags and environment say of `settings` is passed on to the daemon. `force` replaces a unit that somebody
        edited, and keeps a copy.

        Raises:
            ConfigurationError: a rule is wrong; nothing was changed.
            AlreadyRunningError: a daemon that is no service works on the database; nothing was changed.
            ServiceError: somebody edited the unit and nothing was changed, systemd did not do it, or the daemon did
                not get ready.
        """
        bootstrap.make_examiner(settings, bootstrap.make_policy(settings, None))
        fit = _fit(settings, runtime=self._manager.runtime)
        unit = fitted_unit(fit, version=__version__)
        before = self._manager.state(UNIT)
        _refuse_what_is_in_the_way(before, settings.db_path)
        edited = self._edited(unit)
        if edited is not None and not force:
            raise ServiceError(_refusal(self._path, edits(edited, unit)))

        kept = self._keep(edited) if edited is not None else None
        _make_folders([*fit.writable, settings.given.file.parent])
        written = self._write(unit)
        if written or before.is_outdated:
            self._manager.reload()
        enabled = self._enable()
        started = written or before.active != "active" or self._is_older_than_unit(before)
        if started:
            self._start()
        return Installation(
            unit=self._path,
            written=written,
            kept=kept,
            enabled=enabled,
            started=started,
            pid=self._manager.state(UNIT).pid,
            writable=fit.writable,
            network=fit.network,
            programs=fit.programs,
            user=self._manager.user,
            lingers=self._manager.lingers(),
        )

    def uninstall(self) -> str | None:
        """Stop the daemon, and remove the unit; return the folders that it wrote in, which stay. None: there was none.

        Raises:
            ServiceError: systemd did not do it.
        """
        unit = self._unit()
        if unit is None:
            return None
        self._manager.disable(UNIT)
        self._path.unlink()
        self._manager.reload()
        self._manager.forget(UNIT)
        return directives(unit).get("ReadWritePaths", "")

    def status(self, settings: Settings) -> ServiceStatus:
        """Return how the service is, and whether it fits these settings."""
        unit, state = self._unit(), self._manager.state(UNIT)
        return ServiceStatus(
            installed=state.load == "loaded",
            running=state.active == "active",
            enabled=state.enabled == "enabled",
            state=state.active,
            pid=state.pid,
            since=state.active_since if state.active == "active" else None,
            says=state.says or None,
            restarts=state.restarts,
            ended=_ended(state),
            ended_at=state.ended_at,
            edited=unit is not None and is_edited(unit),
            outdated=unit is not None and not _serves(unit, settings),
            unit=state.path or str(self._path),
            user=self._manager.user,
            lingers=self._manager.lingers(),
        )

    def log(self, *, lines: int, priority: str | None = None, follow: bool = False) -> Iterator[LogEntry]:
        """Return the last entries of the daemon's log, and what systemd said of it; `follow` goes on without end.

        Raises:
            ServiceError: the journal cannot be read.
        """
        return self._manager.log(UNIT, lines=lines, priority=priority, follow=follow)

    def _unit(self) -> str | None:
        """Return the unit file that is in place."""
        try:
            return self._path.read_text("utf-8", "replace")
        except FileNotFoundError:
            return None

    def _edited(self, unit: str) -> str | None:
        """Return the unit that is in place if it is another one, and somebody edited it."""
        there = self._unit()
        return there if there is not None and there != unit and is_edited(there) else None

    def _keep(self, edited: str) -> Path:
        """Write a copy under a name that systemd takes for no unit."""
        names = (self._path.with_name(f"{UNIT}.edited{number}") for number in itertools.count(1))
        copy = next(name for name in names if not name.exists())
        self._put(copy, edited)
        return copy

    def _write(self, unit: str) -> bool:
        """Write the unit; False: it is there already."""
        if not self._path.is_symlink() and self._unit() == unit:
            return False
        _make_folders([self._path.parent])
        self._put(self._path, unit)
        return True

    def _put(self, path: Path, text: str) -> None:
        try:
            replace_file(path, text)
        except OSError as error:
            raise ServiceError(f"{path}: cannot be written: {error.strerror}") from error

    def _enable(self) -> bool:
        """Have the daemon started with each session of the user; False: it is already."""
        state = self._manager.state(UNIT)
        if state.load != "loaded" or not os.path.samefile(state.path, self._path):
            raise ServiceError(f"systemd has not read {self._path}: {state.load} {state.path}".rstrip())
        if state.enabled == "enabled":
            return False
        self._manager.enable(UNIT)
        return True

    def _is_older_than_unit(self, state: UnitState) -> bool:
        """Whether the daemon was started before the unit was written: then an installation was interrupted."""
        return state.started_at is not None and state.started_at.timestamp() < int(self._path.stat().st_mtime)

    def _start(self) -> None:
        began = self._clock()
        try:
            self._manager.restart(UNIT)
        except ServiceError as error:
            why = _ended(self._manager.state(UNIT)) or str(error)
            said = [
                entry.message for entry in self.log(lines=10, priority="err") if entry.at >= began and _tells(entry)
            ]
            raise ServiceError("; ".join([f"{UNIT} did not get ready: {why}", *said[-1:]])) from error


def _tells(entry: LogEntry) -> bool:
    """Whether it says why: systemd only says that; an event of the daemon tells what it survived."""
    return entry.source != "systemd" and not entry.message.startswith("{")


def _fit(settings: Settings, *, runtime: Path) -> Fit:
    """Return what the service needs under these settings; of what was given by flag, the environment has no say."""
    command = [sys.executable, "-P", "-m", "grader_daemon", "run"]
    by_flag = [name for name in ("watch_roots", "db_path") if settings.given.sources.get(name) is Source.FLAG]
    if "watch_roots" in by_flag:
        command += [part for root in settings.watch_roots for part in ("--watch-root", str(root))]
    if "db_path" in by_flag:
        command += ["--db-path", str(settings.db_path)]
    program = map(Path, (sys.executable, sys.prefix, sys.base_prefix, os.path.dirname(bootstrap.__file__)))
    home, configuration = _home(), settings.given.file
    writable = tuple(dict.fromkeys((settings.db_path.parent, settings.db_path.resolve().parent)))
    roots = [Path(root) for root in watched_roots(settings)]
    given = [
        configuration if configuration.parent == home else configuration.parent,  # files that are replaced are lost
        settings.rules_file,
        settings.calibration_prior,
        *(Path(word) for word in (*settings.alert_command, *settings.quality_command) if os.path.isabs(word)),
    ]
    read = [*program, *roots, *filter(None, given)]
    return Fit(
        command=tuple(command),
        environment=environment_for_others(settings, but=by_flag),
        needed=tuple(place for path in read for place in (path, path.resolve())),
        home=home,
        awaited=not all(root.is_dir() or any(each.is_relative_to(root) for each in writable) for root in roots),
        writable=writable,
        runtime=runtime,
        max_file_bytes=settings.max_file_bytes,
        network=settings.callers,
        programs=settings.runners,
    )


def _refuse_what_is_in_the_way(service: UnitState, db_path: Path) -> None:
    if service.load == "masked":
        raise ServiceError(f"{UNIT} is masked: systemctl --user unmask {UNIT}")
    pid = holder_pid(db_path) if is_running(db_path) else None
    if pid is not None and pid != service.pid:
        raise AlreadyRunningError(f"a grader-daemon that is no service (pid {pid}) runs on {db_path}: end it first")


def _refusal(path: Path, lines: Sequence[str]) -> str:
    """Return what somebody edited in a unit, and what can be done."""
    more = f" and {len(lines) - _TOLD_EDITS} more lines" if len(lines) > _TOLD_EDITS else ""
    return (
        f"{path} was edited by hand: {'; '.join(lines[:_TOLD_EDITS])}{more}. Lines of your own belong into a drop-in"
        f" (systemctl --user edit {UNIT}); --force replaces the unit and keeps a copy"
    )


def _make_folders(paths: Iterable[Path]) -> None:
    for path in paths:
        try:
            path.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError as error:
            raise ServiceError(f"{path}: cannot be made: {error.strerror}") from error


def _serves(unit: str, settings: Settings) -> bool:
    """Whether a unit is of this version, and its sandbox leaves open what these settings need."""
    closed = directives(unit)
    return (
        f"version {__version__}." in unit.partition("\n")[0]
        and _shows_sessions(closed, settings)
        and not ((settings.callers or settings.runners) and closed.get("PrivateNetwork") == "yes")
        and not (settings.runners and closed.get("MemoryDenyWriteExecute") == "yes")
    )


def hides_sessions(settings: Settings) -> bool:
    """Whether a service is installed whose sandbox does not show it all folders with sessions that are to be graded."""
    try:
        unit = unit_file(_home()).read_text("utf-8", "replace")
    except OSError:
        return False
    return not _shows_sessions(directives(unit), settings)


def _shows_sessions(unit: Mapping[str, str], settings: Settings) -> bool:
    if "%h:ro" not in unit.get("TemporaryFileSystem", "").split():
        return True
    home = _home()
    shown = [
        Path(path.removeprefix("-").replace("%h", str(home))) for path in words_of(unit.get("BindReadOnlyPaths", ""))
    ]
    roots = [Path(root) for root in watched_roots(settings)]
    return all(any(root.is_relative_to(path) for path in shown) for root in roots if root.is_relative_to(home))


def _home() -> Path:
    return Path(os.path.expanduser("~"))


def _ended(state: UnitState) -> str | None:
    """Return how the last process ended."""
    if state.result == "watchdog":
        return "it hung, and systemd ended it"
    if state.result == "oom-kill":
        return "it took too much memory, and was ended"
    if state.signal is not None:
        return f"ended by {signal.Signals(state.signal).name}"
    if state.exit_code is not None:
        known = _EXIT_CODES.get(state.exit_code)
        return f"exit code {state.exit_code}" + (f": {known}" if known else "")
    return None


def environment_for_others(settings: Settings, *, but: Collection[str] = ()) -> dict[str, str]:
    """Return what flags and environment say, as an environment for a process that starts elsewhere: paths are absolute.

    `but` are settings to leave out.

    Raises:
        ConfigurationError: a secret is among them; what is passed on can be read.
    """
    given = settings.given
    passed_on = {CONFIG_VARIABLE: str(given.file)} if given.is_file_named else {}
    for name, source in given.sources.items():
        if name in but or source not in (Source.FLAG, Source.ENVIRONMENT):
            continue
        variable = given.variables.get(name, ENVIRONMENT_PREFIX + name.upper())
        match getattr(settings, name):
            case SecretStr():
                raise ConfigurationError(f"{variable} cannot be passed on; put {name} into {given.file}")
            case tuple() as items:
                passed_on[variable] = json.dumps([item if isinstance(item, float) else str(item) for item in items])
            case bool() as is_so:
                passed_on[variable] = str(is_so).lower()
            case value:
                passed_on[variable] = str(value)
    return passed_on
