"""Langfuse and Phoenix on this machine, as far as scores go: they check what they are asked as the real ones do.

What Langfuse takes is what its published Python clients say, `LANGFUSE_CLIENTS`: one score a request and what answers
it is from the first, which knows no time of a score; that is from the second, which sends lists. What Phoenix answers
was seen with 20.26.1, against which tests/e2e/test_phoenix.py runs the same command.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime
from http.server import BaseHTTPRequestHandler, HTTPServer
from threading import Thread
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

LANGFUSE_CLIENTS = ("4.18.0", "5.0.4")
KEYS = ("pk-lf-1", "sk-lf-2")
_SCORE = frozenset({"id", "sessionId", "name", "value", "comment", "metadata", "dataType", "timestamp"})
_ANNOTATION = frozenset({"session_id", "name", "annotator_kind", "result", "metadata", "identifier"})

Said = tuple[int, Any]


class ScoreServerDouble:
    """What it has, the sessions that it `knows`, and what is answered next: a status each, then as it does.

    It `refuses` scores of a session by their names.
    """

    def __init__(self, answer: Callable[[ScoreServerDouble, str, str, Any], Said]) -> None:
        self.url = ""
        self.knows: set[str] = set()
        self.refuses: set[tuple[str, str]] = set()
        self.kept: dict[Any, dict[str, Any]] = {}
        self.asked: list[str] = []
        self.statuses: list[int] = []
        self.authorization: set[str | None] = set()
        self.answer = answer

    def scores(self) -> dict[tuple[str, str], float | str]:
        """Give the value of each score of each session."""
        return {
            (one.get("sessionId") or one["session_id"], one["name"]): one.get(
                "value", one.get("result", {}).get("score")
            )
            for one in self.kept.values()
        }


def langfuse() -> ScoreServerDouble:
    """Return a Langfuse that knows no session."""
    return ScoreServerDouble(_langfuse)


def phoenix() -> ScoreServerDouble:
    """Return a Phoenix that knows no session."""
    return ScoreServerDouble(_phoenix)


@contextmanager
def serving(server: ScoreServerDouble) -> Iterator[ScoreServerDouble]:
    """Have it listen."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self._answer("GET", None)

        def do_POST(self) -> None:
            self._answer("POST", json.loads(self.rfile.read(int(self.headers["Content-Length"]))))

        def _answer(self, method: str, body: Any) -> None:
            server.asked.append(f"{method} {self.path}")
            server.authorization.add(self.headers["Authorization"])
            status, said = server.statuses.pop(0) if server.statuses else 200, None
            if status == 200:
                status, said = server.answer(server, method, self.path, body)
            self.send_response(status)
            self.end_headers()
            self.wfile.write(json.dumps(said).encode())

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    with HTTPServer(("127.0.0.1", 0), Handler) as http:
        server.url = f"http://127.0.0.1:{http.server_port}"
        thread = Thread(target=http.serve_forever)
        thread.start()
        try:
            yield server
        finally:
            http.shutdown()
            thread.join()


def _langfuse(server: ScoreServerDouble, method: str, target: str, body: Any) -> Said:
    expected = "Basic " + base64.b64encode(":".join(KEYS).encode()).decode()
    if server.authorization != {expected}:
        return 401, {"message": "no such key"}
    url = urlsplit(target)
    match method, url.path:
        case "GET", "/api/public/v2/observations":
            asked = parse_qs(url.query, strict_parsing=True)
            assert set(asked) == {"sessionId", "limit", "fields"}
            found = [{"id": "o"}] if asked["sessionId"][0] in server.knows else []
            return 200, {"data": found, "meta": {}}
        case "POST", "/api/public/scores" if (body["sessionId"], body["name"]) in server.refuses:
            return 400, {"message": "Invalid request data", "error": [{"code": "custom", "message": "Too long"}]}
        case "POST", "/api/public/scores" if _is_a_score(body):
            server.kept[body["id"], body.get("timestamp")] = body
            return 200, {"id": body["id"]}
        case "POST", "/api/public/scores":
            return 400, {"message": "Invalid request data"}
    return 404, None


def _is_a_score(body: Any) -> bool:
    value_fits = isinstance(body["value"], str if body["dataType"] == "CATEGORICAL" else int | float)
    texts = all(isinstance(body[name], str) and body[name] for name in ("id", "sessionId", "name"))
    is_dated = "timestamp" not in body or datetime.fromisoformat(body["timestamp"]).tzinfo is not None
    known = body["dataType"] in ("CATEGORICAL", "NUMERIC") and set(body) <= _SCORE
    return known and value_fits and texts and is_dated and isinstance(body["metadata"], dict)


def _phoenix(server: ScoreServerDouble, method: str, target: str, body: Any) -> Said:
    url = urlsplit(target)
    if (method, url.path, url.query) == ("GET", "/v1/projects", "limit=1"):
        return 200, {"data": [], "next_cursor": None}
    if method == "GET" and url.path.startswith("/v1/sessions/"):
        return (200, {"data": {}}) if unquote(url.path.rsplit("/", 1)[1]) in server.knows else (404, None)
    if (method, url.path, url.query) != ("POST", "/v1/session_annotations", "sync=true"):
        return 405, None
    if not all(_is_an_annotation(one) for one in body["data"]):
        return 422, None
    if not {one["session_id"] for one in body["data"]} <= server.knows:
        return 404, None
    for one in body["data"]:
        server.kept[one["session_id"], one["name"], one["identifier"]] = one
    return 200, {"data": []}


def _is_an_annotation(one: Any) -> bool:
    result = one["result"]
    is_scored = isinstance(result.get("score", 0), int | float) and (result["label"] or "score" in result)
    values = is_scored and set(result) | {"score"} == {"score", "label", "explanation"}
    return set(one) == _ANNOTATION and values and one["annotator_kind"] in ("LLM", "CODE", "HUMAN")
