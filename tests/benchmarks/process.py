"""The real program in a home of its own, and what the kernel says about it."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import apsw
import msgspec

_TICKS_PER_SECOND = os.sysconf("SC_CLK_TCK")
_PATIENCE_SECONDS = 120.0
_STOP_SECONDS = 15.0
_LAUNCHER = """
import json, resource, subprocess, sys
done = subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
used = resource.getrusage(resource.RUSAGE_CHILDREN)
print(json.dumps({"code": done.returncode, "cpu_seconds": used.ru_utime + used.ru_stime,
                  "peak_bytes": used.ru_maxrss * 1024, "error": done.stderr.decode(errors="replace")[-600:]}))
"""


class Usage(msgspec.Struct, frozen=True):
    """What one run of a command took."""

    code: int
    cpu_seconds: float
    peak_bytes: int
    error: str


@dataclass(frozen=True, slots=True)
class Sandbox:
    """A home folder, a watched root and a database; every command runs with these and nothing of the user's own."""

    folder: Path
    root: Path
    settings: dict[str, str]

    @property
    def database(self) -> Path:
        return self.folder / "grades.db"

    @property
    def environment(self) -> dict[str, str]:
        """What the program sees of its surroundings."""
        kept = {
            name: os.environ[name] for name in ("PATH", "LANG", "TZ", "TMPDIR", "VIRTUAL_ENV") if name in os.environ
        }
        own = {
            "HOME": str(self.folder / "home"),
            "GRADER_WATCH_ROOTS": str(self.root),
            "GRADER_DB_PATH": str(self.database),
        }
        return kept | own | self.settings

    def command(self, *arguments: str, allowed: tuple[int, ...] = (0,), given: bytes = b"") -> Usage:
        """Run one command to its end, with what is `given` as its input.

        A small process starts it, because Linux counts the memory of whoever starts a program as the program's own.

        Raises:
            SystemExit: it failed; a benchmark of something that fails would mislead.
        """
        launcher = (sys.executable, "-E", "-S", "-c", _LAUNCHER)
        program = (*launcher, sys.executable, "-m", "grader_daemon", *arguments)
        done = subprocess.run(program, env=self.environment, input=given, stdout=subprocess.PIPE, check=True)
        usage = msgspec.json.decode(done.stdout, type=Usage)
        if usage.code not in allowed:
            raise SystemExit(f"grader-daemon {' '.join(arguments)}: exit {usage.code}: {usage.error}")
        return usage

    @contextmanager
    def daemon(self) -> Iterator[Daemon]:
        """A running daemon, ended with the context; it need not have found anything yet."""
        log = self.folder / "daemon.log"
        with log.open("wb") as stream:
            arguments = (sys.executable, "-m", "grader_daemon", "run", "--log-format", "json")
            process = subprocess.Popen(arguments, env=self.environment, stdout=stream, stderr=stream)
        daemon = Daemon(process, log)
        try:
            yield daemon
        finally:
            daemon.stop()

    def reader(self) -> apsw.Connection:
        """A second connection, read only, that sees what is committed."""
        connection = apsw.Connection(str(self.database), flags=apsw.SQLITE_OPEN_READONLY)
        connection.set_busy_timeout(1000)
        return connection

    def count_grades(self) -> int:
        """Grades that are committed."""
        reader = self.reader()
        try:
            return count_grades(reader)
        finally:
            reader.close()


class Program:
    """A process that stays, and what the kernel says of it."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self.pid = process.pid
        self._process = process

    @property
    def cpu_clock(self) -> float:
        """User and system time of all its threads so far, ended ones too, in seconds, to the nanosecond.

        The clock of another process, as clock_getcpuclockid(3) of Linux numbers it.
        """
        return time.clock_gettime(~self.pid << 3 | 2)

    @property
    def cpu_ticks(self) -> int:
        """The same as the kernel counts it for statistics, in ticks of 10 ms."""
        fields = Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()
        return int(fields[11]) + int(fields[12])

    @property
    def descriptors(self) -> int:
        """Files and sockets that it has open."""
        return len(os.listdir(f"/proc/{self.pid}/fd"))

    def resident_bytes(self) -> int:
        """Resident memory now."""
        return self._status_bytes("VmRSS")

    def peak_bytes(self) -> int:
        """Most resident memory so far."""
        return self._status_bytes("VmHWM")

    def stop(self) -> None:
        """End it in order, and if that takes too long in disorder."""
        if self._process.poll() is None:
            self._process.terminate()
            try:
                self._process.wait(_STOP_SECONDS)
            except subprocess.TimeoutExpired:
                self._process.kill()
        self._process.wait()

    def _status_bytes(self, field: str) -> int:
        for line in Path(f"/proc/{self.pid}/status").read_text().splitlines():
            if line.startswith(field + ":"):
                return int(line.split()[1]) * 1024
        raise SystemExit(f"/proc/{self.pid}/status has no {field}")


class Daemon(Program):
    """A daemon process and its log."""

    def __init__(self, process: subprocess.Popen[bytes], log: Path) -> None:
        super().__init__(process)
        self._log = log

    def wait_for_event(self, name: str) -> dict[str, Any]:
        """Wait until the daemon has logged the event `name`, and give its first one."""
        found: list[dict[str, Any]] = []

        def seen() -> bool:
            found[:] = [event for event in self.events() if event.get("event") == name]
            return bool(found)

        self.wait_until(seen, f"the daemon logs {name}")
        return found[0]

    def events(self) -> Iterator[dict[str, Any]]:
        """What it has logged."""
        for line in self._log.read_bytes().splitlines():
            try:
                yield msgspec.json.decode(line, type=dict[str, Any])
            except msgspec.MsgspecError:
                continue

    def wait_until(self, true: Callable[[], bool], what: str, *, seconds: float = _PATIENCE_SECONDS) -> None:
        """Ask again and again.

        Raises:
            SystemExit: the daemon has ended, or time is up.
        """
        deadline = time.monotonic() + seconds
        while not true():
            self.check_alive()
            if time.monotonic() > deadline:
                raise SystemExit(f"waited {seconds:.0f} s in vain until {what}")
            time.sleep(0.02)

    def check_alive(self) -> None:
        """See that it still runs.

        Raises:
            SystemExit: it does not.
        """
        if self._process.poll() is not None:
            tail = self._log.read_text(errors="replace")[-1500:]
            raise SystemExit(f"the daemon ended with {self._process.returncode}:\n{tail}")

    def cpu_seconds(self) -> float:
        """User and system time of all its threads so far, to the nanosecond while they live (schedstat)."""
        nanoseconds = 0
        for task in Path(f"/proc/{self.pid}/task").iterdir():
            nanoseconds += int((task / "schedstat").read_text().split()[0])
        return nanoseconds / 1e9

    def cpu_seconds_with_ended_threads(self) -> float:
        """User and system time so far, ended threads and all, to the tick of the kernel (10 ms)."""
        return self.cpu_ticks / _TICKS_PER_SECOND

    def cpu_seconds_with_helpers(self) -> float:
        """The same with all processes that it started and that these started, those that ended too, to 10 ms."""
        return sum(each.ticks for each in self._family()) / _TICKS_PER_SECOND

    def memory_with_helpers(self) -> int:
        """Resident bytes now with all processes that it started; what several share counts once (PSS)."""
        kilobytes = 0
        for each in self._family():
            with suppress(OSError):  # it has ended since
                lines = Path(f"/proc/{each.pid}/smaps_rollup").read_text().splitlines()
                kilobytes += sum(int(line.split()[1]) for line in lines if line.startswith("Pss:"))
        return kilobytes * 1024

    def _family(self) -> Iterator[_Process]:
        """Return it and all processes that it started and that these started."""
        family = {self.pid}
        for each in sorted(_all_processes()):
            if each.pid == self.pid or each.parent in family:
                family.add(each.pid)
                yield each

    def written_bytes(self) -> int:
        """What it has had written to the disk so far, database and log."""
        fields = dict(line.split(": ") for line in Path(f"/proc/{self.pid}/io").read_text().splitlines())
        return int(fields["write_bytes"])


def make_sandbox(folder: Path, *, root: Path | None = None, settings: dict[str, str] | None = None) -> Sandbox:
    """Make the folders of a sandbox; `root` is below it unless given."""
    sandbox = Sandbox(folder, root if root is not None else folder / "root", settings or {})
    for made in (folder / "home", sandbox.root):
        made.mkdir(parents=True, exist_ok=True)
    return sandbox


class _Process(NamedTuple):
    """A process as the kernel counts it: `ticks` of itself and of those that it started and waited for."""

    started: int
    pid: int
    parent: int
    ticks: int


def _all_processes() -> Iterator[_Process]:
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
        except OSError:
            continue  # it has ended since
        yield _Process(int(fields[19]), int(stat.parent.name), int(fields[1]), sum(map(int, fields[11:15])))


def count_grades(reader: apsw.Connection) -> int:
    """Grades that are committed, as a connection sees them; 0 before there is a table."""
    try:
        return int(reader.execute("SELECT count(*) FROM session_grades").get)
    except apsw.SQLError:
        return 0
