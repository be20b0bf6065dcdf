"""How much of a processor something takes: the one measure that a busy machine leaves nearly as it is."""

from __future__ import annotations

import gc
from collections.abc import Callable
from time import process_time

_TRIES = 3
"""A machine that is itself a guest may count what its host took; hardly three times in a row."""

_REFERENCE_SECONDS = 0.025
"""What `_reference` takes of a processor with nothing else to do: when it takes longer, so may everything."""


def cpu_seconds(work: Callable[[], object]) -> float:
    """Give what `work` takes of this process's time on processors, in seconds.

    What other tests left in memory is kept from the collector of garbage, which would look through it again and again.
    It stays so, as what was collected does: to ask whether something is kept, takes as long as such a look.
    """
    gc.freeze()
    began = process_time()
    work()
    return process_time() - began


def is_done_within(seconds: float, work: Callable[[], object]) -> bool:
    """Does `work` take less than that of a quiet processor? The first of a few tries that does is enough."""
    return any(_is_less(cpu_seconds(work), seconds) for _ in range(_TRIES))


def _is_less(taken: float, seconds: float) -> bool:
    return taken < seconds or taken < seconds * cpu_seconds(_reference) / _REFERENCE_SECONDS


def _reference() -> int:
    return sum(len(str(number)) for number in range(200_000))
