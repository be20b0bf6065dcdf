"""Features of the words that occur, without keeping any: many share one of a few buckets.

They say nothing before there are labels of one's own, for what a word means differs from one kind of work to the next;
then they help most. Not to be turned back into text: a bucket holds thousands of words.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final
from zlib import crc32

from grader_daemon.analysis.features.feature import Feature
from grader_daemon.analysis.features.session_window import SessionWindow

BUCKETS: Final = 256
_ONLY_MARKS: Final = bytes(code == 1 for code in range(256))
_MOST_KNOWN: Final = 16_384
_LONGEST_KNOWN: Final = 24
"""Bytes: longer words are rarely common, and what is remembered is bounded."""

_PLACES: Final = {"answer": "The answer has", "result": "The last two results have", "call": "The last six calls have"}

WORDS: Final = {
    "hash:answer": "Words of the answer.",
    "hash:result": "Words of the last two results.",
    "hash:call": "Words of the last six calls.",
}
"""Descriptions of all buckets of a place together: single ones say nothing."""

FEATURES: Final = tuple(
    Feature(f"hash:{place}:{bucket}", f"{who} a word of bucket {bucket} of {BUCKETS}.")
    for place, who in _PLACES.items()
    for bucket in range(BUCKETS)
)

_OF_ANSWER = 80
_OF_RESULT = 30
_OF_CALL = 30


class Buckets(dict[bytes, int]):
    """Into which of `BUCKETS` buckets words fall: alike on every machine, and the common ones are looked up.

    A bucket is a byte, so that no step of `marks` is taken in Python.
    """

    def __missing__(self, word: bytes) -> int:
        bucket = crc32(word) % BUCKETS
        if len(self) < _MOST_KNOWN and len(word) < _LONGEST_KNOWN:
            self[word] = bucket
        return bucket

    def marks(self, found: Iterable[bytes]) -> bytes:
        """Return 1 for each bucket that a word falls into, 0 for the others."""
        seen = bytearray([*map(self.__getitem__, found)])
        marks = bytes.maketrans(seen, b"\1" * len(seen)).translate(_ONLY_MARKS)
        return marks if 1 in seen else marks[:1] + b"\0" + marks[2:]  # what is not seen stays itself, and 1 is a mark


_BUCKET_OF: Final = Buckets()


def measure(window: SessionWindow) -> bytes:
    """Return the features of this group, in order: of each text its first words."""
    results = [word for result in window.results[-2:] for word in result.tokens[:_OF_RESULT]]
    called = [word for tokens in window.called for word in tokens[:_OF_CALL]]
    called += {tool.encode("utf-8", "replace") for tool in window.tools[-6:]}
    return b"".join(map(_BUCKET_OF.marks, (window.answer_tokens[:_OF_ANSWER], results, called)))
