"""A JSON document as text: what commands print with ``--json``, and what the page answers to programs."""

from __future__ import annotations

from typing import Any

import msgspec

from grader_daemon._version import SCHEMA_VERSION
from grader_daemon.domain.text import escaped


def json_text(content: Any = None, /, **fields: Any) -> str:
    """Return a document, indented, times in ISO 8601: the fields of a struct or dictionary, then others.

    Characters that a terminal would obey are escaped.
    """
    whole = msgspec.structs.asdict(content) if isinstance(content, msgspec.Struct) else content or {}
    encoded = msgspec.json.encode({"schema_version": SCHEMA_VERSION, **whole, **fields}, enc_hook=str)
    return escaped(msgspec.json.format(encoded, indent=2).decode("utf-8", "backslashreplace"))
