"""Acting as a user who may do less than root, as whom tests often run."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

NOBODY: Final = 65534
_VERSION_3: Final = 0x20080522
"""Of the header of capset(2): two words for each set of capabilities."""

_DAC_OVERRIDE: Final = 1 << 1
"""Reading and writing any file; see capabilities(7)."""

_DAC_READ_SEARCH: Final = 1 << 2
"""Reading any file and looking into any folder; see capabilities(7)."""


@contextmanager
def of_nobody() -> Iterator[None]:
    """Act as a user who may not do everything."""
    if os.geteuid() != 0:
        yield
        return
    os.seteuid(NOBODY)
    try:
        yield
    finally:
        os.seteuid(0)


@contextmanager
def to_read_alone() -> Iterator[None]:
    """Act as a user who may read everything, the checkout too wherever it lies, and write nothing."""
    with of_nobody():
        if os.getuid() == 0:
            _change_capabilities(on=_DAC_READ_SEARCH)
        yield


@contextmanager
def of_owner() -> Iterator[None]:
    """Act as the owner of the files who, also as root, may do with them what their modes say."""
    if os.geteuid() != 0:
        yield
        return
    _change_capabilities(off=_DAC_OVERRIDE | _DAC_READ_SEARCH)
    try:
        yield
    finally:
        _change_capabilities(on=_DAC_OVERRIDE | _DAC_READ_SEARCH)


def _change_capabilities(*, on: int = 0, off: int = 0) -> None:
    """Have capabilities in effect, of those that root left permitted, and others not."""
    system = ctypes.CDLL(None, use_errno=True)
    header = (ctypes.c_uint32 * 2)(_VERSION_3, 0)
    sets = (ctypes.c_uint32 * 6)()  # effective, permitted, inheritable of the first 32, then of the others
    if system.capget(header, sets) == 0:
        sets[0] = (sets[0] | (on & sets[1])) & ~off
        if system.capset(header, sets) == 0:
            return
    raise OSError(ctypes.get_errno(), "the rights of this process cannot be set")
