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

Leftover = tuple[str, str]
"""A kind, and what identifies it."""


@contextmanager
def nothing_left() -> Iterator[None]:
    """Raise an AssertionError if what is inside leaves something behind."""
    before = frozenset(_alive())
    yield
    left = _alive() - before
    if left:
        gc.collect()
        _wait_for_ends(before)
        left = _alive() - before
    assert not left, f"left behind: {', '.join(sorted(map(_told, left)))}"


def _wait_for_ends(before: frozenset[Leftover]) -> None:
    """Wait for new threads, and for children that are about to be reaped by one."""
    pause, deadline = threading.Event(), monotonic() + _PATIENCE_SECONDS
    while _alive() - before and monotonic() < deadline:
        pause.wait(0.01)


def _alive() -> set[Leftover]:
    """Return what there is now."""
    threads = {("thread", str(thread.ident)) for thread in threading.enumerate()}
    return threads | _children() | _descriptors()


def _children() -> set[Leftover]:
    """Return the processes that any thread of this one started and nobody has waited for."""
    found = set()
    for task in _listed("/proc/self/task"):
        with suppress(OSError), open(f"/proc/self/task/{task}/children") as children:  # the thread ended
            found |= {("process", pid) for pid in children.read().split()}
    return found


def _listed(folder: str) -> list[str]:
    """Return what is in a folder of the kernel's; nothing on a Mac, which has none."""
    try:
        return os.listdir(folder)
    except FileNotFoundError:
        return []


def _told(left: Leftover) -> str:
    kind, name = left
    if kind == "process":
        return f"process {_command_of(name)}"
    if kind == "thread":
        return f"thread {next((each.name for each in threading.enumerate() if str(each.ident) == name), name)}"
    with suppress(OSError):
        return f"descriptor of {os.readlink(f'/proc/self/fd/{name}')}"
    return f"descriptor {name}"


def _command_of(pid: str) -> str:
    with suppress(OSError):
        return Path(f"/proc/{pid}/cmdline").read_text().replace("\0", " ").strip() or f"{pid} (not waited for)"
    return pid


def _descriptors() -> set[Leftover]:
    """Return those that are open. To ask what they are of takes ten times as long: that is done for what is left."""
    return {("descriptor", each) for each in _listed("/proc/self/fd") if _is_open(int(each))}


def _is_open(descriptor: int) -> bool:
    """Return False for the one that listed them."""
    try:
        os.get_inheritable(descriptor)
    except OSError:
        return False
    return True
