"""Messages for chat servers, each tried against a local server that takes what the real one's documentation says."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

import msgspec
import pytest

from grader_daemon.errors import ConfigurationError, DeliveryError
from grader_daemon.integrations.chat import WebhookFormat, in_format
from grader_daemon.integrations.receivers import Webhook
from grader_daemon.settings import load_settings
from tests.strategies import NOW

HOSTILE = "tool <!channel> @all `x` *b* [a](http://b) & more"
SLACK_MOST, MATTERMOST_MOST, NTFY_MOST = 40_000, 16_383, 4_096
"""Characters of a text; of ntfy bytes of a message, more of which become an attachment."""


def document(event: str = "opened", level: str = "critical", name: str = HOSTILE) -> str:
    alert = None if event == "test" else {"number": 3, "level": level, "drops": []}
    return json.dumps(
        {
            "schema_version": 1,
            "event": event,
            "title": f"Alert 3, {level}: {name}",
            "cause": f"The same tasks went worse. What changed since: {name}",
            "command": "grader-daemon alerts show 3",
            "alert": alert,
        }
    )


class Ntfy(msgspec.Struct, forbid_unknown_fields=True):
    """A message as docs.ntfy.sh describes it, the fields that are not about actions and attachments."""

    topic: str
    message: str = ""
    title: str = ""
    tags: list[str] = []
    priority: int = 3


def takes_slack(path: str, body: bytes) -> bool:
    text = json.loads(body).get("text")
    return path == "/services/T0/B0/x" and isinstance(text, str) and 0 < len(text) <= SLACK_MOST


def takes_mattermost(path: str, body: bytes) -> bool:
    text = json.loads(body).get("text")
    return path == "/services/T0/B0/x" and isinstance(text, str) and 0 < len(text) <= MATTERMOST_MOST


def takes_ntfy(path: str, body: bytes) -> bool:
    try:
        message = msgspec.json.decode(body, type=Ntfy)
    except msgspec.ValidationError:
        return False
    has_topic = re.fullmatch(r"[-_A-Za-z0-9]{1,64}", message.topic) is not None
    return path == "/" and has_topic and 1 <= message.priority <= 5 and len(message.message.encode()) < NTFY_MOST


@contextmanager
def server(takes: Callable[[str, bytes], bool]) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """A server on a free port that answers 400 to what it does not take."""
    taken: list[dict[str, Any]] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            fits = self.headers["Content-Type"] == "application/json" and takes(self.path, body)
            if fits:
                taken.append(json.loads(body))
            self.send_response(200 if fits else 400)
            self.end_headers()

        def log_message(self, *_: Any) -> None: ...

    listening = HTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=listening.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield f"http://127.0.0.1:{listening.server_port}", taken
    finally:
        listening.shutdown()
        thread.join()
        listening.server_close()


SERVERS = [
    pytest.param("slack", "/services/T0/B0/x", takes_slack, id="slack"),
    pytest.param("mattermost", "/services/T0/B0/x", takes_mattermost, id="mattermost"),
    pytest.param("ntfy", "/alerts", takes_ntfy, id="ntfy"),
]


@pytest.mark.parametrize("event", ["opened", "resolved", "test"])
@pytest.mark.parametrize(("form", "path", "takes"), SERVERS)
def test_each_server_takes_its_format(
    form: WebhookFormat, path: str, takes: Callable[[str, bytes], bool], event: str
) -> None:
    with server(takes) as (url, taken):
        Webhook(url + path, secret=None, timeout_seconds=5, form=form).send(document(event), delivery=1, now=NOW)
    assert len(taken) == 1
    assert "grader-daemon alerts show 3" in json.dumps(taken)


@pytest.mark.parametrize(("form", "path", "takes"), SERVERS)
def test_no_server_takes_our_own_json(form: str, path: str, takes: Callable[[str, bytes], bool]) -> None:
    assert form != "json"
    with server(takes) as (url, _), pytest.raises(DeliveryError, match="400"):
        Webhook(url + path, secret=None, timeout_seconds=5).send(document(), delivery=1, now=NOW)


def test_our_own_json_is_posted_as_it_is() -> None:
    assert in_format(document(), "json", "http://a/b") == ("http://a/b", document().encode())


def text_of(form: WebhookFormat) -> str:
    _, body = in_format(document(), form, "http://a/b")
    text = json.loads(body)["text"]
    assert isinstance(text, str)
    return text


def test_names_call_nobody_in_slack() -> None:
    assert "tool &lt;!channel&gt; @all" in text_of("slack")
    assert "&amp; more" in text_of("slack")


def test_names_call_nobody_and_dress_up_nothing_in_mattermost() -> None:
    text = text_of("mattermost")
    assert "@all" not in text
    assert r"tool \<!channel\> @" in text
    assert r"\`x\` \*b\* \[a\](http://b)" in text


@pytest.mark.parametrize(
    ("event", "level", "priority"),
    [
        pytest.param("opened", "critical", 5, id="critical"),
        pytest.param("opened", "warning", 4, id="warning"),
        pytest.param("resolved", "critical", 3, id="resolved"),
        pytest.param("test", "critical", 3, id="test"),
    ],
)
def test_ntfy_is_told_how_urgent_it_is(event: str, level: str, priority: int) -> None:
    url, body = in_format(document(event, level), "ntfy", "https://ntfy.example.org/base/a-topic")
    message = json.loads(body)
    assert (url, message["topic"], message["priority"]) == ("https://ntfy.example.org/base/", "a-topic", priority)
    assert message["title"].startswith("Resolved: ") is (event == "resolved")


def test_a_url_without_a_topic_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("GRADER_ALERT_WEBHOOK_FORMAT", raising=False)
    with pytest.raises(ConfigurationError, match=r"alert_webhook_format.*the URL of a topic"):
        load_settings(alert_webhook_url="https://ntfy.sh/", alert_webhook_format="ntfy")
