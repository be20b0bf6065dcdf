"""Waiting for another thread or process, without guessing how long it takes."""

from __future__ import annotations

import threading
from collections.abc import Callable
from time import monotonic


def wait_until(condition: Callable[[], bool], *, seconds: float = 30) -> None:
    """Look until `condition` holds; `seconds` is patience for a busy machine, and more of it costs nothing."""
    deadline, bell = monotonic() + seconds, threading.Event()
    while not condition():
        assert monotonic() < deadline, "it did not happen in time"
        bell.wait(0.005)
