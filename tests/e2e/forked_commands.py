"""Commands and daemons that start at once: a process that has imported the program forks, and becomes them.

To start one takes half a second of a processor, nearly all of it imports; the tests of a worker pay for them once. From
the fork on it is the real thing: a process with its own environment, folder and streams, which ends as it does when
it is started anew. How it is started show the tests of the service, of the terminal, of documents, and those that
start it under another program.
"""

from __future__ import annotations

import atexit
import gc
import json
import os
import random
import select
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Final, NoReturn

from tests.waiting import wait_until

_LIKE_ANY = {"LANG": "C.UTF-8", "TZ": "UTC"}
"""Read by an interpreter as it starts, as what begins so is: a command for which they are others is started anew."""

_READ_AT_START = ("LC_", "LD_", "PYTHON", "FAKETIME", "COVERAGE", "MALLOC")
_COMMANDS = (
    *("alerts", "doctor", "grade", "label", "listing", "report", "report_errors", "report_patterns", "report_week"),
    *("run", "show", "status", "why"),
)
_BEHIND = (
    *("bootstrap.periodic", "calibration.training", "pipeline.ingest", "reports.plain_text_report", "rules.load_prior"),
    *("sources.discovery", "jobs.calibration_job", "jobs.degradation", "jobs.weekly", "skills.versions_job"),
    *("routing.job", "outcomes.job", "push.score_commands", "push.metrics_job", "scorers.make", "hook.listener"),
    *("fleet.push_job", "api.tables"),
)
_PID_BYTES = 8


def can_be_forked(environment: Mapping[str, str]) -> bool:
    """Return whether a command that finds this environment needs no interpreter of its own, and inherits nothing else.

    A test may have taken rights from its own process; if it entered a namespace, so does a process that forks.
    """
    is_like_any = environment.items() >= _LIKE_ANY.items()
    return is_like_any and not any(map(_is_read_at_start, environment)) and _inherited() == _AT_FIRST


def _is_read_at_start(name: str) -> bool:
    return name.startswith(_READ_AT_START)


def _inherited() -> tuple[str, ...]:
    """Return what a process that is started now would have from this one: rights, mask, limits, group."""
    own = Path("/proc/self")
    rights = [line for line in (own / "status").read_text().splitlines() if line.startswith(_RIGHTS)]
    return (*rights, (own / "limits").read_text(), (own / "cgroup").read_text())


def _namespaces() -> tuple[str, ...]:
    """Return those of a process that is started now. Who mounts a disk enters one of its own, and stays there."""
    return tuple(os.readlink(f"/proc/self/ns/{name}") for name in ("mnt", "net", "pid_for_children", "user"))


_RIGHTS = ("Umask:", "Uid:", "Gid:", "Groups:", "CapEff:", "CapBnd:", "Cpus_allowed:")
_AT_FIRST = _inherited()


class ForkedProcess:
    """A ``grader-daemon``, asked as `subprocess.Popen` is, with nothing on its standard input. For one thread alone."""

    def __init__(
        self,
        arguments: Sequence[str | bytes | Path],
        *,
        environment: Mapping[str, str],
        folder: Path,
        output: int,
        errors: int,
    ) -> None:
        """Fork it; `output` and `errors` are where it writes to."""
        self.args = ["grader-daemon", *map(os.fsdecode, arguments)]
        self.returncode: int | None = None
        self._asked: Final = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._asked.connect(_address(_namespaces()))
        request = json.dumps([self.args[1:], dict(environment), str(folder)]).encode()
        with open(os.devnull, "rb") as nothing:
            socket.send_fds(self._asked, [len(request).to_bytes(_PID_BYTES)], [nothing.fileno(), output, errors])
        self._asked.sendall(request)
        self.pid = int.from_bytes(_received(self._asked, _PID_BYTES))

    def poll(self) -> int | None:
        """Return how it ended; None while it runs."""
        if self.returncode is None and select.select([self._asked], [], [], 0)[0]:
            self.returncode = int.from_bytes(_received(self._asked, _PID_BYTES), signed=True)
            self._asked.close()
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        """Wait until it ends, and return how.

        Raises:
            subprocess.TimeoutExpired: it did not in so many seconds.
        """
        if self.returncode is None and not select.select([self._asked], [], [], timeout)[0]:
            assert timeout is not None
            raise subprocess.TimeoutExpired(self.args, timeout)
        code = self.poll()
        assert code is not None
        return code

    def send_signal(self, number: int) -> None:
        """Send it a signal, unless it has ended."""
        if self.poll() is None:
            os.kill(self.pid, number)


def run_forked(
    arguments: Sequence[str | bytes | Path], *, environment: Mapping[str, str], folder: Path, within: float
) -> subprocess.CompletedProcess[str]:
    """Run ``grader-daemon`` with nothing on its standard input; see `subprocess.run`.

    Raises:
        subprocess.TimeoutExpired: it did not end in time, and was killed.
    """
    (output, its_output), (errors, its_errors) = os.pipe(), os.pipe()
    process = ForkedProcess(arguments, environment=environment, folder=folder, output=its_output, errors=its_errors)
    os.close(its_output)
    os.close(its_errors)
    with ThreadPoolExecutor(2) as pool:
        written = [pool.submit(_read, pipe) for pipe in (output, errors)]
        try:
            code = process.wait(within)
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGKILL)
            process.wait()
            raise
        return subprocess.CompletedProcess(process.args, code, *[each.result() for each in written])


def _read(pipe: int) -> str:
    with open(pipe, encoding="utf-8") as stream:
        return stream.read()


def _received(connection: socket.socket, size: int) -> bytes:
    content = b""
    while len(content) < size:
        more = connection.recv(size - len(content))
        assert more, "the process that forks has ended"
        content += more
    return content


@cache
def _address(_: tuple[str, ...]) -> str:
    """Start the process that forks in these namespaces, which ends with this one, and return where it listens."""
    folder = Path(tempfile.mkdtemp())
    environment = {"PATH": os.environ["PATH"], "PYTHONPATH": os.pathsep.join(filter(None, sys.path)), **_LIKE_ANY}
    process = subprocess.Popen(
        [sys.executable, "-m", __name__, str(folder / "socket")],
        env=environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,  # of the kind that a command gets: how a stream is written to is found out as it starts
        stderr=subprocess.PIPE,
    )
    atexit.register(process.communicate)
    wait_until((folder / "socket").exists, "the process that forks")
    return str(folder / "socket")


# -- in the process that forks -----------------------------------------------------------------------------------------


def _main(path: str) -> None:
    """Fork for whoever connects, until the standard input ends."""
    _import()
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listening:
        listening.bind(f"{path}.new")
        listening.listen()
        Path(f"{path}.new").rename(path)
        while sys.stdin.fileno() not in select.select([listening, sys.stdin.fileno()], [], [])[0]:
            connection, _ = listening.accept()
            if os.fork() == 0:
                listening.close()
                _serve(connection)
            connection.close()
            _reap()


def _import() -> None:
    """Import what commands and daemons do, and keep it from the collector, which would copy its pages to look at it."""
    from grader_daemon.bootstrap import SOURCES

    sources = (f"sources.{each.partition(':')[0]}" for each in SOURCES.values())
    for name in (*(f"cli.{each}" for each in _COMMANDS), *_BEHIND, *sources):
        import_module(f"grader_daemon.{name}")
    gc.freeze()


def _reap() -> None:
    with suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass


def _serve(connection: socket.socket) -> NoReturn:
    """Fork the command, and tell who it is and how it ended."""
    size, streams, _, _ = socket.recv_fds(connection, _PID_BYTES, 3)
    arguments, environment, folder = json.loads(_received(connection, int.from_bytes(size)))
    pid = os.fork()
    if pid == 0:
        connection.close()
        _become(arguments, environment, folder, streams)
    for stream in streams:
        os.close(stream)
    with suppress(OSError):
        connection.sendall(pid.to_bytes(_PID_BYTES))
        code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        connection.sendall(code.to_bytes(_PID_BYTES, signed=True))
    os._exit(0)


def _become(arguments: list[str], environment: dict[str, str], folder: str, streams: list[int]) -> NoReturn:
    from grader_daemon.cli import main

    for number, stream in enumerate(streams):
        os.dup2(stream, number)
        os.close(stream)
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    time.tzset()
    random.seed()
    sys.argv = ["grader-daemon", *arguments]
    try:
        main()
    except SystemExit as ended:
        threading._shutdown()  # type: ignore[attr-defined]  # waits for threads, as an interpreter does at its end
        atexit._run_exitfuncs()
        sys.stdout.flush()
        os._exit(ended.code if isinstance(ended.code, int) else int(ended.code is not None))
    os._exit(0)


if __name__ == "__main__":
    _main(*sys.argv[1:])
