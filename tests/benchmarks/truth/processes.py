"""The same work for many keys, in several processes that see what this one has read: nothing large is sent to them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context
from typing import Any, TypeVar

from tests.benchmarks import machine

World = TypeVar("World")
Key = TypeVar("Key")
Found = TypeVar("Found")

_inherited: list[Callable[[Any], Any]] = []
"""What a process began with; it was forked after this was set."""


def in_processes(work: Callable[[World, Key], Found], world: World, keys: Sequence[Key], *, jobs: int) -> list[Found]:
    """Return what `work` makes of each key, in their order."""
    call = partial(work, world)
    found: list[Found] = []
    with ProcessPoolExecutor(
        max_workers=jobs, mp_context=get_context("fork"), initializer=_inherited.append, initargs=(call,)
    ) as pool:
        for number, each in enumerate(pool.map(_work, keys), 1):
            machine.progress(f"{work.__name__.strip('_').replace('_', ' ')}: {number:,} of {len(keys):,}")
            found.append(each)
    machine.progress_done()
    return found


def _work(key: Any) -> Any:
    return _inherited[-1](key)
