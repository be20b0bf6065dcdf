"""A service as a value: its files, its command, its sandbox and the port that it is started by."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from grader_daemon.settings import Settings


class LogEntry(msgspec.Struct, frozen=True, kw_only=True):
    """An entry of a service's log; `priority` is that of syslog(3), from 0 (the worst) to 7 (for debugging).

    `source` names the program that wrote it.
    """

    at: datetime
    priority: int
    source: str
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Fit:
    """Demands of a service: what it runs, and what its sandbox has to leave open for that.

    It reads `needed` and writes in the folders `writable`; `runtime` is the user's own folder below /run, of which it
    sees nothing but the places `shown`, where they are there. Of what lies in `home` it sees nothing else, unless it
    runs a program of the user's own, of which nothing is known, or folders with sessions are `awaited`: those that are
    not there yet it sees only where their place was left open. `network` names the settings by which it calls a server,
    `programs` those by which it runs such a program. Of `read_once` it knows what stood there when it was started. At
    `address` it listens, as does a socket of systemd (systemd.socket(5)).
    """

    command: tuple[str, ...]
    environment: Mapping[str, str]
    needed: tuple[Path, ...]
    writable: tuple[Path, ...]
    home: Path
    runtime: Path
    max_file_bytes: int
    awaited: bool = False
    network: tuple[str, ...] = ()
    programs: tuple[str, ...] = ()
    shown: tuple[Path, ...] = ()
    read_once: tuple[Path, ...] = ()
    address: str | None = None

    def needs(self, *folders: Path) -> bool:
        """Return whether it needs anything in these folders."""
        return any(path.is_relative_to(folder) for path in (*self.needed, *self.writable) for folder in folders)

    @property
    def seen_in_home(self) -> list[Path] | None:
        """Paths that it reads in the home folder, without what lies below another such path; None: anything."""
        read = sorted(path for path in set(self.needed) if path.is_relative_to(self.home))
        if self.programs or self.awaited or self.home in (*read, *self.writable):
            return None
        return [path for path in read if not any(other in path.parents for other in read)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Unit:
    """A service of the user.

    Attributes:
        name: of its files, which are shipped in `systemd/` and fitted to a machine and its settings.
        install: the command that does that.
        foreground: the command that does the same work without a service manager.
        fit: returns its demands; raises a ConfigurationError where the settings ask for what cannot be.
        check: raises a GraderError where it may not be installed; is given the process that runs, if one does.
        troubles: the command that shows what it complained of, if it is one of ours.
        waits: whether it is started by a visit: systemd holds its port then, at the address of its demands.
        enabled: sentence on when it runs.
        started: sentence on a start; none where it waits for a visit.
        failed: sentence on a start that failed.
    """

    name: str
    install: str
    foreground: str
    fit: Callable[[Settings], Fit]
    check: Callable[[Settings, int | None], None] | None = None
    troubles: str | None = None
    waits: bool = False
    enabled: str = "it starts with your session"
    started: str | None = None
    failed: str = "did not start"

    @property
    def service(self) -> str:
        """Name of the file that says what runs, and how."""
        return f"{self.name}.service"

    @property
    def files(self) -> tuple[str, ...]:
        """Names of its files; the last is the one that is enabled and started."""
        return (self.service, f"{self.name}.socket") if self.waits else (self.service,)
