"""Alerts in the formats of chat servers: incoming webhooks of Slack and Mattermost, and ntfy's publishing as JSON.

Titles and causes hold names from sessions, which nobody may use to call a channel or to dress up a message: what has a
meaning there is escaped. https://docs.slack.dev/messaging/formatting-message-text,
https://developers.mattermost.com/integrate/webhooks/incoming, https://docs.ntfy.sh/publish/#publish-as-json
"""

from __future__ import annotations

import re
from typing import Literal
from urllib.parse import urlsplit, urlunsplit

import msgspec

WebhookFormat = Literal["json", "slack", "mattermost", "ntfy"]

_MARKDOWN = re.compile(r"([\\`*_\[\]<>#|~])")
_TOPIC = re.compile(r"[-_A-Za-z0-9]{1,64}")
_PRIORITIES = {"critical": 5, "warning": 4}
_ORDINARY = 3


class _Level(msgspec.Struct):
    level: str


class _Message(msgspec.Struct):
    """Fields that these formats need of the document of an alert; see `jobs.degradation`."""

    event: str
    title: str
    cause: str = ""
    command: str = ""
    alert: _Level | None = None


def in_format(payload: str, wanted: WebhookFormat, url: str) -> tuple[str, bytes]:
    """Return where to post the document of an alert to, and what."""
    if wanted == "json":
        return url, payload.encode()
    message = msgspec.json.decode(payload, type=_Message)
    if wanted == "ntfy":
        server, topic = topic_of(url)
        return server, msgspec.json.encode(_ntfy(message, topic))
    escape = _for_slack if wanted == "slack" else _for_mattermost
    said = [line for line in (_title(message), message.cause) if line]
    text = "\n".join([*map(escape, said), f"`{message.command}`"])
    return url, msgspec.json.encode({"text": text})


def topic_of(url: str) -> tuple[str, str]:
    """Split the URL of a topic of ntfy into that of the server and the topic.

    Raises:
        ValueError: it names no topic.
    """
    parts = urlsplit(url)
    path, _, topic = parts.path.rpartition("/")
    if not _TOPIC.fullmatch(topic):
        raise ValueError("the URL of a topic is expected, such as https://ntfy.sh/your-topic")
    return urlunsplit(parts._replace(path=f"{path}/")), topic


def _ntfy(message: _Message, topic: str) -> dict[str, object]:
    is_bad = message.event == "opened"
    level = message.alert.level if is_bad and message.alert is not None else ""
    return {
        "topic": topic,
        "title": _title(message),
        "message": "\n".join(line for line in (message.cause, message.command) if line),
        "priority": _PRIORITIES.get(level, _ORDINARY),
        "tags": ["warning" if is_bad else "white_check_mark"],
    }


def _title(message: _Message) -> str:
    return f"Resolved: {message.title}" if message.event == "resolved" else message.title


def _for_slack(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def _for_mattermost(text: str) -> str:
    return _MARKDOWN.sub(r"\\\1", text).replace("@", "@\N{ZERO WIDTH SPACE}")
