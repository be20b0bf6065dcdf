"""Zstandard: of Python itself from 3.14 on, before that by the package that brings the same to earlier ones."""

from __future__ import annotations

import sys

if sys.version_info >= (3, 14):
    from compression.zstd import DecompressionParameter, ZstdDecompressor, ZstdError, ZstdFile, compress, decompress
else:
    from backports.zstd import DecompressionParameter, ZstdDecompressor, ZstdError, ZstdFile, compress, decompress

__all__ = ["DecompressionParameter", "ZstdDecompressor", "ZstdError", "ZstdFile", "compress", "decompress"]
