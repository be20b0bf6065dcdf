"""Revisions of the Model Context Protocol, and how a client and we agree on one.

Up to 2025-11-25 a client opens with `initialize`, and both keep to what was agreed on. Since 2026-07-28 nothing is
agreed on: each request names its revision. We serve both, also side by side, as
https://modelcontextprotocol.io/specification/2026-07-28/basic/versioning has it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from grader_daemon._version import __version__
from grader_daemon.errors import RequestError
from grader_daemon.recall.jsonrpc import Code

AGREED: Final = ("2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05")
"""Revisions that are agreed on, the newest first."""
NAMED: Final = ("2026-07-28",)
"""Revisions that each request names."""
BATCHING: Final = "2025-03-26"
"""The one in which several messages may stand on a line."""

SERVER: Final = {"name": "grader-daemon", "title": "grader-daemon", "version": __version__}
CAPABILITIES: Final[Mapping[str, Any]] = {"tools": {}, "resources": {}}
_UNSUPPORTED: Final = -32022
_GONE: Final = -32002
_PREFIX: Final = "io.modelcontextprotocol/"
_FOR_AN_HOUR: Final = {"ttlMs": 3_600_000, "cacheScope": "public"}
_FOR_NOW: Final = {"ttlMs": 0, "cacheScope": "private"}
_CACHED: Final = {
    "server/discover": _FOR_AN_HOUR,
    "tools/list": _FOR_AN_HOUR,
    "resources/templates/list": _FOR_AN_HOUR,
    "resources/list": _FOR_NOW,
    "resources/read": _FOR_NOW,
}
"""Times for which a client may keep an answer: what is known of sessions changes with each."""


def agreed_on(wanted: object) -> str:
    """Return the revision to speak with a client that wants one: that, or else the newest.

    Raises:
        RequestError: it does not say.
    """
    if not isinstance(wanted, str):
        raise RequestError("initialize: protocolVersion is missing", code=Code.INVALID_PARAMS)
    return wanted if wanted in AGREED else AGREED[0]


def named_by(params: Mapping[str, Any]) -> str | None:
    """Return the revision that a request names; None where it relies on what was agreed on.

    Raises:
        RequestError: it is not spoken here, or the request lacks what goes with it.
    """
    meta = params.get("_meta")
    if not isinstance(meta, dict) or f"{_PREFIX}protocolVersion" not in meta:
        return None
    version = meta[f"{_PREFIX}protocolVersion"]
    if not isinstance(version, str) or not isinstance(meta.get(f"{_PREFIX}clientCapabilities"), dict):
        raise RequestError(
            f"_meta: {_PREFIX}protocolVersion is a text, and {_PREFIX}clientCapabilities an object",
            code=Code.INVALID_PARAMS,
        )
    if version not in NAMED:
        raise RequestError(
            "this protocol version is not supported",
            code=_UNSUPPORTED,
            data={"supported": [*NAMED, *AGREED], "requested": version},
        )
    return version


def in_revision(version: str | None, method: str, content: dict[str, Any]) -> dict[str, Any]:
    """Return a result with what the revision that a request names wants beside it."""
    if version is None:
        return content
    about = {f"{_PREFIX}serverInfo": SERVER}
    return {"resultType": "complete", **content, **_CACHED.get(method, {}), "_meta": about}


def not_found(version: str | None, uri: str) -> RequestError:
    """Return what is said of a resource that there is not, of which the code has changed."""
    code = _GONE if version is None else Code.INVALID_PARAMS
    return RequestError("there is no such resource", code=code, data={"uri": uri})
