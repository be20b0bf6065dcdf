"""Features as a column: the measures as numbers, the marks behind them as bits.

Marks are most of the features and weigh nothing before there are labels, so a row must hardly notice them.
"""

from __future__ import annotations

from struct import Struct
from typing import Final, cast

import msgspec

from grader_daemon.domain.completion_model import MARKS

_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(tuple[tuple[float, ...], bytes]).decode
_FLAGS: Final = Struct(f"{MARKS}?")
_TO_DIGITS: Final = bytes.maketrans(b"\0\1", b"01")
_FROM_DIGITS: Final = bytes.maketrans(b"01", b"\0\1")


def from_features(features: tuple[float, ...]) -> str:
    """Return a JSON array of the measures, each a number, and of the marks in Base64; few features are all measures."""
    if len(features) < MARKS:
        return _encode((features, b"")).decode()
    bits = int(_flags(features[-MARKS:]).translate(_TO_DIGITS), 2)
    return _encode((features[:-MARKS], bits.to_bytes(MARKS // 8, "big"))).decode()


def to_features(text: str | None) -> tuple[float, ...]:
    """The reverse of `from_features`; a row without features has none."""
    if not text:
        return ()
    measures, bits = _decode(text)
    if not bits:
        return measures
    digits = f"{int.from_bytes(bits, 'big'):0{8 * len(bits)}b}"
    return (*measures, *digits.encode().translate(_FROM_DIGITS))


def _flags(marks: tuple[float, ...]) -> bytes | bytearray:
    """Return a byte for each mark. Those that come straight from an analysis are whole numbers, which is faster."""
    try:
        return bytearray(cast("tuple[int, ...]", marks))
    except TypeError:
        return _FLAGS.pack(*marks)
