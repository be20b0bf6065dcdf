"""Features as a column: the measures as numbers, the marks behind them as bits.

Marks are most of the features and weigh nothing before there are labels, so a row must hardly notice them.
"""

from __future__ import annotations

from typing import Final

import msgspec

from grader_daemon.domain.session_features import NO_FEATURES, Features

_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(tuple[tuple[float, ...], bytes]).decode
_TO_DIGITS: Final = bytes.maketrans(b"\0\1", b"01")
_FROM_DIGITS: Final = bytes.maketrans(b"01", b"\0\1")
_OF_A_BYTE: Final = 8


def from_features(features: Features) -> str:
    """Return a JSON array of the measures, each a number, and of the marks, eight to a byte, in Base64."""
    marks = features.marks
    bits = int(marks.translate(_TO_DIGITS), 2).to_bytes(len(marks) // _OF_A_BYTE, "big") if marks else b""
    return _encode((features.measures, bits)).decode()


def to_features(text: str | None) -> Features:
    """The reverse of `from_features`; a row without features has none."""
    if not text:
        return NO_FEATURES
    measures, bits = _decode(text)
    if not bits:
        return Features(measures)
    digits = f"{int.from_bytes(bits, 'big'):0{_OF_A_BYTE * len(bits)}b}"
    return Features(measures, digits.encode().translate(_FROM_DIGITS))
