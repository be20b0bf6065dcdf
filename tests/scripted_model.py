"""A server on loopback that answers chat completions as a script says, and keeps what it was asked."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Step = Callable[["Handler"], None]


class Handler(BaseHTTPRequestHandler):
    """One request; the script decides how it ends."""

    model: ScriptedModel
    asked: Asked

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.asked = Asked(self.path, dict(self.headers), json.loads(body))
        self.model.asked.append(self.asked)
        step = self.model.next_step()
        step(self)

    def do_GET(self) -> None:
        self.model.followed.append(self.path)
        self.send(200, b"{}")

    def send(self, status: int, body: bytes, **headers: str) -> None:
        """Answer and end."""
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None: ...


class Asked:
    """One request as it came."""

    def __init__(self, path: str, headers: dict[str, str], body: dict[str, Any]) -> None:
        self.path = path
        self.headers = headers
        self.body = body

    @property
    def messages(self) -> list[dict[str, str]]:
        """The messages of the chat."""
        return list(self.body["messages"])

    @property
    def record(self) -> str:
        """The line between the two lines that hold the marker."""
        lines = self.messages[1]["content"].split("\n")
        first = next(number for number, line in enumerate(lines) if len(line) == 32)
        assert lines[first] == lines[first + 2]
        return lines[first + 1]


class ScriptedModel:
    """Goes through the steps, one a request; the last one stays."""

    def __init__(self, steps: Sequence[Step]) -> None:
        self.asked: list[Asked] = []
        self.followed: list[str] = []
        self.leaving = threading.Event()
        self._steps = list(steps)
        self._lock = threading.Lock()
        bound = type("Bound", (Handler,), {"model": self})
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), bound)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_port}/v1"
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01})
        self._thread.start()

    def next_step(self) -> Step:
        with self._lock:
            return self._steps.pop(0) if len(self._steps) > 1 else self._steps[0]

    def close(self) -> None:
        self.leaving.set()
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()


@contextmanager
def scripted(*steps: Step) -> Iterator[ScriptedModel]:
    """Serve a script until the end of the block."""
    model = ScriptedModel(steps)
    try:
        yield model
    finally:
        model.close()


def says(content: str | None) -> Step:
    """A chat completion with this content."""
    body = {"id": "x", "object": "chat.completion", "choices": [{"index": 0, "message": {"content": content}}]}
    return lambda handler: handler.send(200, json.dumps(body).encode())


def quality(number: float) -> Step:
    """The answer that is asked for."""
    return says(json.dumps({"quality": number}))


def status(code: int, body: bytes = b"the session says hush", **headers: str) -> Step:
    """An HTTP status of its own."""
    return lambda handler: handler.send(code, body, **headers)


def raw(body: bytes) -> Step:
    """A success with a body that is no chat completion."""
    return lambda handler: handler.send(200, body)


def hang(handler: Handler) -> None:
    """Say nothing until the server is closed."""
    handler.model.leaving.wait()


def dribble(handler: Handler) -> None:
    """Begin an answer and go on for ever, a little at a time."""
    handler.send_response(200)
    handler.send_header("Content-Length", "1000000")
    handler.end_headers()
    while not handler.model.leaving.wait(0.02):
        handler.wfile.write(b" ")
        handler.wfile.flush()


def drop(handler: Handler) -> None:
    """Hang up without a word."""
    handler.close_connection = True


def flood(handler: Handler) -> None:
    """Send more than anybody may want."""
    handler.send_response(200)
    handler.end_headers()
    for _ in range(2000):
        handler.wfile.write(b" " * 65_536)
