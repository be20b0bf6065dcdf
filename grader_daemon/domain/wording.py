"""The wording of a request in 32 bytes, which two requests share as far as they share words.

A MinHash of its different words: one hash of each, of which 32 points on the circle of all hashes take the next one
(Shrivastava and Li, "Densifying One Permutation Hashing", ICML 2014). Of two wordings the share of equal bytes
estimates the share of all words that both requests have. Words with a digit are part of every hash: another order,
another patient, another version is another request, however much of the template is the same.
"""

from __future__ import annotations

from bisect import bisect_left
from itertools import repeat
from typing import Final

import xxhash

BYTES: Final = 32
BANDS: Final = 4
BAND_BYTES: Final = 4
"""Wordings that share one of the first four bands are compared: of pairs that share 80 % of their words two in three
are found near, of those that share 90 % all (`python -m tests.benchmarks.similar`)."""
NEAR: Final = 0.8

_HASH_BYTES: Final = 4
_POINTS: Final = tuple((point << 27).to_bytes(_HASH_BYTES, "big") for point in range(BYTES))
_DIGITS: Final = b"0123456789"


def wording_of(words: str) -> bytes | None:
    """Return how a request of these words, which white space separates, is worded; None without any."""
    said = words.encode("utf-8", "replace")
    different = {*said.split()}
    if not different:
        return None
    with_digit = different.difference(said.translate(None, _DIGITS).split())
    seed = xxhash.xxh32_intdigest(b" ".join(sorted(with_digit))) if with_digit else 0
    hashes = sorted(map(xxhash.xxh32_digest, different, repeat(seed)))
    last_bytes = b"".join((*hashes, hashes[0]))[_HASH_BYTES - 1 :: _HASH_BYTES]  # behind the last comes the first
    return bytes(map(last_bytes.__getitem__, map(bisect_left, repeat(hashes), _POINTS)))


def bands_of(wording: bytes) -> tuple[bytes, ...]:
    """Return the parts of a wording of which near ones mostly share one."""
    return tuple(wording[BAND_BYTES * band :][:BAND_BYTES] for band in range(BANDS))


def likeness(one: bytes, other: bytes) -> float:
    """Estimate the share of all words of two requests that both have, 0 to 1."""
    return sum(mine == its for mine, its in zip(one, other, strict=True)) / BYTES
