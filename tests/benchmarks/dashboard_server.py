"""The dashboard of a home as a process of its own, and who asks it without a browser."""

from __future__ import annotations

import gzip
import http.client
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import NamedTuple
from urllib.parse import urlsplit

from tests.benchmarks.process import Program, Sandbox

_PATIENCE_SECONDS = 60.0
_ENTRANCE = re.compile(rb"Open (http://\S+)\?token=(\S+)\n")


class Answer(NamedTuple):
    """What came back, in how many bytes, how long it took, and what it cost the server."""

    body: bytes
    sent: int
    seconds: float
    cpu_seconds: float

    @property
    def text(self) -> str:
        return self.body.decode("utf-8")


class Dashboard(Program):
    """A dashboard that answers."""

    def __init__(self, process: subprocess.Popen[bytes], base: str, token: str) -> None:
        super().__init__(process)
        self.base = base
        self.token = token

    @property
    def entrance(self) -> str:
        """The address that lets one in."""
        return f"{self.base}?token={self.token}"

    def ask(self, address: str) -> Answer:
        """Ask for an address as a browser does, which takes gzip, on a connection of its own.

        Raises:
            SystemExit: it refuses; what a refusal costs would mislead.
        """
        headers = {"Authorization": f"Bearer {self.token}", "Accept-Encoding": "gzip"}
        began, before = time.perf_counter(), self.cpu_clock
        with closing(http.client.HTTPConnection(urlsplit(self.base).netloc, timeout=_PATIENCE_SECONDS)) as connection:
            connection.request("GET", address, headers=headers)
            response = connection.getresponse()
            sent = response.read()
        seconds, cpu_seconds = time.perf_counter() - began, self.cpu_clock - before
        body = gzip.decompress(sent) if response.headers["Content-Encoding"] == "gzip" else sent
        answer = Answer(body, len(sent), seconds, cpu_seconds)
        if response.status != http.HTTPStatus.OK:
            raise SystemExit(f"{address}: {response.status}\n{answer.text}")
        return answer


@contextmanager
def served(sandbox: Sandbox) -> Iterator[Dashboard]:
    """A dashboard of a sandbox, ended with the context."""
    command = (sys.executable, "-m", "grader_daemon", "dashboard", "--port", "0")
    process = subprocess.Popen(command, env=sandbox.environment, stdout=subprocess.PIPE)
    assert process.stdout is not None
    said = _ENTRANCE.fullmatch(process.stdout.readline())
    if said is None:
        process.kill()
        raise SystemExit("the dashboard did not say where it is")
    dashboard = Dashboard(process, said[1].decode(), said[2].decode())
    try:
        yield dashboard
    finally:
        dashboard.stop()
        process.stdout.close()
