"""A receiver of OpenTelemetry on this machine: it reads what is posted by the published messages of the protocol."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from threading import Thread
from typing import Any

from google.protobuf import json_format
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.logs.v1.logs_pb2 import LogRecord

Attributes = dict[str, Any]


def parsed(body: bytes) -> ExportLogsServiceRequest:
    """Read the JSON encoding; a field that the protocol does not know is an error."""
    request = ExportLogsServiceRequest()
    json_format.Parse(body, request)
    return request


def attributes(record: LogRecord) -> Attributes:
    """Give the attributes of a record by their keys."""
    return {one.key: getattr(one.value, str(one.value.WhichOneof("value"))) for one in record.attributes}


class Receiver:
    """What came, and what is answered next: a status and a body each, then success for ever."""

    def __init__(self) -> None:
        self.url = ""
        self.requests: list[ExportLogsServiceRequest] = []
        self.headers: list[dict[str, str]] = []
        self.answers: list[tuple[int, bytes]] = []

    @property
    def records(self) -> list[LogRecord]:
        """All records, of all requests that were taken."""
        return [
            record
            for request in self.requests
            for resource in request.resource_logs
            for scope in resource.scope_logs
            for record in scope.log_records
        ]

    def scores(self) -> dict[tuple[str, str], float | None]:
        """Give the last value of each evaluation of each session."""
        told = [attributes(record) for record in self.records]
        return {
            (one["gen_ai.conversation.id"], one["gen_ai.evaluation.name"]): one.get("gen_ai.evaluation.score.value")
            for one in told
        }


@contextmanager
def receiving() -> Iterator[Receiver]:
    """Have a receiver listen."""
    receiver = Receiver()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            request = parsed(self.rfile.read(int(self.headers["Content-Length"])))
            status, body = receiver.answers.pop(0) if receiver.answers else (200, b"{}")
            receiver.headers.append(dict(self.headers))
            if status == 200 and self.path == "/v1/logs":
                receiver.requests.append(request)
            self.send_response(status if self.path == "/v1/logs" else 404)
            self.send_header("Content-Type", "application/json")
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        receiver.url = f"http://127.0.0.1:{server.server_port}/v1/logs"
        thread = Thread(target=server.serve_forever)
        thread.start()
        try:
            yield receiver
        finally:
            server.shutdown()
            thread.join()
