"""Documents in which an element of a list has a shape that is not known: read without it, as lines of files are.

To leave out only the value that is wrong could make a failed call a successful one.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final, TypeVar

import msgspec

T = TypeVar("T")

_MOST_LEFT_OUT: Final = 20
"""Elements; of a document with more its shape is another one."""
_PLACE: Final = re.compile(r" - at `\$(?:\.(\w+))?\[(\d+)\]([^`]*)`\Z")
"""Where a value is wrong, within an element of a list that is the document, or that one of its keys holds."""
_NUMBER: Final = re.compile(r"\[\d+\]")


def read_without_strange(read: Callable[[bytes], T], content: bytes, passed_over: dict[str, None]) -> T:
    """Read a JSON document without the elements of its lists that cannot be read; one must be left in each.

    `passed_over` is told the place of what is wrong in each, without numbers: "messages[].role".

    Raises:
        msgspec.DecodeError, UnicodeDecodeError, RecursionError: what `read` raises of anything else.
    """
    for _ in range(_MOST_LEFT_OUT):
        try:
            return read(content)
        except msgspec.ValidationError as error:
            place = _PLACE.search(str(error))
            shorter = None if place is None else _without(content, place[1], int(place[2]))
            if place is None or shorter is None:
                raise
            passed_over[_NUMBER.sub("[]", f"{place[1] or ''}[]{place[3]}")] = None
            content = shorter
    return read(content)


def _without(content: bytes, key: str | None, number: int) -> bytes | None:
    """Return a document without an element of a list, its other values byte by byte; None if it is the only one."""
    fields = {} if key is None else msgspec.json.decode(content, type=dict[str, msgspec.Raw])
    elements = msgspec.json.decode(content if key is None else fields[key], type=list[msgspec.Raw])
    del elements[number]
    if not elements:
        return None
    left = msgspec.json.encode(elements)
    return left if key is None else msgspec.json.encode({**fields, key: msgspec.Raw(left)})
