"""Checks of numbers that a caller of the Python API gives: what is wrong is an `InputError`, in words."""

from __future__ import annotations

import math
import operator

from grader_daemon.errors import InputError


def check_days(days: float) -> float:
    """Return a number of days as it is.

    Raises:
        InputError: it is none.
    """
    try:
        is_fit = math.isfinite(days) and days > 0
    except (TypeError, OverflowError):
        is_fit = False
    if not is_fit:
        raise InputError(f"days: {days!r} is not valid; give a number above 0")
    return days


def check_count(name: str, number: int, *, least: int = 1) -> int:
    """Return a whole number, which is an argument called `name`, as it is.

    Raises:
        InputError: it is none, or below the least.
    """
    try:
        is_fit = operator.index(number) >= least
    except TypeError:
        is_fit = False
    if not is_fit:
        raise InputError(f"{name}: {number!r} is not valid; give a whole number, {least} or more")
    return number
