"""Waiting for another thread or process, without guessing how long it takes.

A time limit in a test is patience: it says when to give up, never how fast something has to be. More of it costs
nothing as long as all is well.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from time import monotonic
from typing import TypeVar

Found = TypeVar("Found")

PATIENCE_SECONDS = 150.0
_POLL_SECONDS = 0.01
_SELDOM_SECONDS = 0.05
"""What is looked at opens a database as often as not: on a busy machine that would slow down what is waited for."""


def wait_until(condition: Callable[[], Found | None], what: str, *, within: float = PATIENCE_SECONDS) -> Found:
    """Give what `condition` finds as soon as it finds something."""
    pause = threading.Event()
    began = monotonic()
    while True:
        waited = monotonic() - began
        is_last = waited > within
        if found := condition():
            return found
        if is_last:
            raise AssertionError(f"waited {within:g} s in vain for {what}")
        pause.wait(min(max(_POLL_SECONDS, waited / 20), _SELDOM_SECONDS))
