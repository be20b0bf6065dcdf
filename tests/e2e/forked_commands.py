"""Commands that start at once: a process that has imported the program forks, and becomes them.

To start one takes half a second of a processor, nearly all of it imports; the tests of a worker pay for them once. From
the fork on it is the real thing: a process with its own environment, folder and streams, which ends as it does when
it is started anew. How it is started show the tests of the service, of the terminal, of documents, and of daemons.
"""

from __future__ import annotations

import atexit
import json
import os
import random
import select
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import NoReturn

from tests.waiting import wait_until

_LIKE_ANY = {"LANG": "C.UTF-8", "TZ": "UTC"}
"""Read by an interpreter as it starts, as what begins so is: a command for which they are others is started anew."""

_READ_AT_START = ("LC_", "LD_", "PYTHON", "FAKETIME", "COVERAGE", "MALLOC")
_IMPORTED = ("alerts", "doctor", "errors", "grade", "label", "listing", "patterns", "report", "show", "status", "why")
_BEHIND = ("bootstrap.periodic", "pipeline.ingest", "reports.text", "rules", "sources.discovery")
_PID_BYTES = 8


def can_be_forked(environment: Mapping[str, str]) -> bool:
    """Return whether a command that finds this environment needs no interpreter of its own, and inherits nothing else.

    A test may have put its own process in a namespace, or taken rights from it.
    """
    is_like_any = environment.items() >= _LIKE_ANY.items()
    return is_like_any and not any(map(_is_read_at_start, environment)) and _inherited() == _AT_FIRST


def _is_read_at_start(name: str) -> bool:
    return name.startswith(_READ_AT_START)


def _inherited() -> tuple[str, ...]:
    """Return what a process that is started now would have from this one: namespaces, rights, mask, limits, group."""
    own = Path("/proc/self")
    namespaces = [os.readlink(own / "ns" / name) for name in ("mnt", "net", "pid_for_children", "user")]
    rights = [line for line in (own / "status").read_text().splitlines() if line.startswith(_RIGHTS)]
    return (*namespaces, *rights, (own / "limits").read_text(), (own / "cgroup").read_text())


_RIGHTS = ("Umask:", "Uid:", "Gid:", "Groups:", "CapEff:", "CapBnd:", "Cpus_allowed:")
_AT_FIRST = _inherited()


def run_forked(
    arguments: Sequence[str | bytes | Path], *, environment: Mapping[str, str], folder: Path, within: float
) -> subprocess.CompletedProcess[str]:
    """Run ``grader-daemon`` with nothing on its standard input; see `subprocess.run`.

    Raises:
        subprocess.TimeoutExpired: it did not end in time, and was killed.
    """
    request = json.dumps([[os.fsdecode(each) for each in arguments], dict(environment), str(folder)]).encode()
    with closing(socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)) as asked, ThreadPoolExecutor(2) as pool:
        asked.connect(_address())
        written = [pool.submit(_read, pipe) for pipe in _hand_over(asked, request)]
        pid = int.from_bytes(_received(asked, _PID_BYTES))
        asked.settimeout(within)
        try:
            code = int.from_bytes(_received(asked, _PID_BYTES), signed=True)
        except TimeoutError:
            os.kill(pid, signal.SIGKILL)
            raise subprocess.TimeoutExpired("grader-daemon", within) from None
        return subprocess.CompletedProcess(
            ["grader-daemon", *map(os.fsdecode, arguments)], code, *[each.result() for each in written]
        )


def _hand_over(asked: socket.socket, request: bytes) -> list[int]:
    """Send a request with the streams of the command; return where its output and its errors are read."""
    output, errors = os.pipe(), os.pipe()
    with open(os.devnull, "rb") as nothing:
        streams = [nothing.fileno(), output[1], errors[1]]
        socket.send_fds(asked, [len(request).to_bytes(_PID_BYTES)], streams)
    asked.sendall(request)
    os.close(output[1])
    os.close(errors[1])
    return [output[0], errors[0]]


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
def _address() -> str:
    """Start the process that forks, which ends with this one, and return where it listens."""
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
    for name in (*(f"cli.{each}" for each in _IMPORTED), *_BEHIND):
        import_module(f"grader_daemon.{name}")
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
        atexit._run_exitfuncs()
        sys.stdout.flush()
        os._exit(ended.code if isinstance(ended.code, int) else int(ended.code is not None))
    os._exit(0)


if __name__ == "__main__":
    _main(*sys.argv[1:])
