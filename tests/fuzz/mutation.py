"""Changes to a session file that leave it JSON: random bytes alone seldom get past the decoder."""

from __future__ import annotations

import json
from collections.abc import Callable
from random import Random
from typing import Any

Mutate = Callable[[bytes, int], bytes]
"""Changes some bytes without growing beyond a size."""

_STRANGE: tuple[Any, ...] = (
    *(None, True, 0, -1, 10**4000, 1e308, float("inf"), "", [], {}, [[]], "\0", "\x1b[31m", "\u202e", "\ud83d", "💥"),
    *("1e999", "-0", "9999-12-31T23:59:59.999999+14:00", "0001-01-01T00:00:00-23:59", "../../etc/passwd", "x" * 3000),
    *(
        [{"type": "text", "text": None}],
        {"type": "text"},
        '{"exit_code": 1e400}',
        '{"error": {"message": [1]}}',
        "{" * 500,
    ),
    *(
        '{"output": "x", "exit_code": "-7"} tail',
        "Traceback (most recent call last)\n  x\nE: y",
        "<tool_call>{</tool_call>",
    ),
)


def mutate_json(content: bytes, size: int, *, seed: int, mutate: Mutate) -> bytes:
    """Change one value of a JSON document, or any bytes of what is none."""
    chance = Random(seed)
    try:
        document = json.loads(content)
        places = list(_places(document))
    except (ValueError, RecursionError):
        return mutate(content, size)
    if not places or chance.random() < 0.2:
        return mutate(content, size)
    holder, key = chance.choice(places)
    holder[key] = _changed(holder[key], chance, places, mutate)
    changed = json.dumps(document, ensure_ascii=chance.random() < 0.5).encode("utf-8", "surrogatepass")
    return changed if len(changed) <= size else mutate(content, size)


def _places(value: Any) -> list[tuple[Any, Any]]:
    """Every place of a document that holds a value, as its container and its key there."""
    found, pending = [], [value]
    while pending:
        holder = pending.pop()
        if isinstance(holder, dict | list):
            keys = list(holder) if isinstance(holder, dict) else range(len(holder))
            found += [(holder, key) for key in keys]
            pending += [holder[key] for key in keys]
    return found


def _changed(value: Any, chance: Random, places: list[tuple[Any, Any]], mutate: Mutate) -> Any:
    way = chance.random()
    if way < 0.35 and isinstance(value, str):
        return mutate(value.encode("utf-8", "surrogatepass"), 2 * len(value) + 40).decode("utf-8", "surrogateescape")
    if way < 0.6:
        return chance.choice(_STRANGE)
    if way < 0.8 and isinstance(value, list):
        return value * chance.choice((0, 2, 3))
    holder, key = chance.choice(places)
    return json.loads(json.dumps(holder[key]))
