"""Refusals of requests: a JSON document for programs, below ``/api``, else one line of text."""

from __future__ import annotations

from typing import Final

from starlette.responses import PlainTextResponse, Response

from grader_daemon.api.json_text import json_text

PLACE: Final = "/api"
"""Addresses for programs are below it."""


def is_for_programs(path: str) -> bool:
    """Return whether an address is one for programs."""
    return path.startswith(f"{PLACE}/")


def refused(status: int, words: str) -> Response:
    """Return the JSON document for a program that gets nothing."""
    return Response(f"{json_text(error=words)}\n", status, media_type="application/json")


def refused_at(path: str, status: int, words: str) -> Response:
    """Return the same at an address for programs, elsewhere one line of text."""
    return refused(status, words) if is_for_programs(path) else PlainTextResponse(f"{words}\n", status)
