from __future__ import annotations

import io

import pytest

from grader_daemon.system import zstd


def test_what_was_packed_comes_back_also_from_several_frames() -> None:
    packed = zstd.compress(b"one ", 1) + zstd.compress(b"two", 19)

    assert (zstd.decompress(packed), zstd.ZstdFile(io.BytesIO(packed)).read()) == (b"one two", b"one two")


def test_a_window_that_is_too_large_is_refused() -> None:
    """The frame of a stream that asks for 1 GiB: magic, descriptor, window of 2^30 (RFC 8878, 3.1.1)."""
    frame = b"\x28\xb5\x2f\xfd" + b"\x00" + bytes([20 << 3])
    reading = zstd.ZstdDecompressor(options={zstd.DecompressionParameter.window_log_max: 27})

    with pytest.raises(zstd.ZstdError):
        reading.decompress(frame + b"\0" * 9, 1)
