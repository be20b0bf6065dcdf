"""What a test leaves behind in its process: threads, child processes, open descriptors.

Fixtures of a module or of the whole run are there before a test begins, and so are the threads of pytest's helpers.
"""

from __future__ import annotations

import gc
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from time import monotonic

_PATIENCE_SECONDS = 5.0
"""A thread that was told to end may still do so."""

Leftovers = dict[str, str]
"""By what identifies it, how it is told."""


@contextmanager
def nothing_left() -> Iterator[None]:
    """Raise an AssertionError if what is inside leaves something behind."""
    before = _alive()
    yield
    left = _left_since(before)
    if left:
        gc.collect()
        _wait_for_ends(before)
        left = _left_since(before)
    assert not left, f"left behind: {', '.join(sorted(left.values()))}"


def _left_since(before: Leftovers) -> Leftovers:
    return {key: told for key, told in _alive().items() if key not in before}


def _wait_for_ends(before: Leftovers) -> None:
    """Wait for new threads, and for children that are about to be reaped by one."""
    pause, deadline = threading.Event(), monotonic() + _PATIENCE_SECONDS
    while _left_since(before) and monotonic() < deadline:
        pause.wait(0.01)


def _alive() -> Leftovers:
    """Return what there is now."""
    threads = {f"thread {thread.ident}": f"thread {thread.name}" for thread in threading.enumerate()}
    return threads | _children() | _descriptors()


def _children() -> Leftovers:
    """Return the processes that any thread of this one started and nobody has waited for."""
    found = {}
    for task in _listed("/proc/self/task"):
        with suppress(OSError), open(f"/proc/self/task/{task}/children") as children:  # the thread ended
            for pid in children.read().split():
                found[f"process {pid}"] = f"process {_command_of(pid)}"
    return found


def _listed(folder: str) -> list[str]:
    """Return what is in a folder of the kernel's; nothing on a Mac, which has none."""
    try:
        return os.listdir(folder)
    except FileNotFoundError:
        return []


def _command_of(pid: str) -> str:
    with suppress(OSError):
        return Path(f"/proc/{pid}/cmdline").read_text().replace("\0", " ").strip() or f"{pid} (not waited for)"
    return pid


def _descriptors() -> Leftovers:
    found = {}
    for descriptor in _listed("/proc/self/fd"):
        with suppress(OSError):  # the one that lists them
            found[f"descriptor {descriptor}"] = f"descriptor of {os.readlink(f'/proc/self/fd/{descriptor}')}"
    return found
