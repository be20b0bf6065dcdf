"""Zstandard as the standard library has it from Python 3.14 on, before by its backport: half a megabyte, not 24."""

from __future__ import annotations

import sys

if sys.version_info >= (3, 14):
    from compression.zstd import DecompressionParameter, ZstdDecompressor, ZstdError, ZstdFile, compress, decompress
else:
    from backports.zstd import DecompressionParameter, ZstdDecompressor, ZstdError, ZstdFile, compress, decompress

__all__ = ["DecompressionParameter", "ZstdDecompressor", "ZstdError", "ZstdFile", "compress", "decompress"]
