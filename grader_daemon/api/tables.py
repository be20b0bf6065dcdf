"""Results as plain dictionaries and as tables, for notebooks and programs that want no classes of ours."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import date, datetime
from importlib import import_module
from typing import Any

import msgspec

from grader_daemon.domain.grade import Grade
from grader_daemon.errors import InputError
from grader_daemon.storage.records import StoredGrade


def as_dict(result: msgspec.Struct) -> dict[str, Any]:
    """Give a result as a dictionary, all the way down; times stay times, what is unknown is None.

    A stored grade is its grade with the `id` of its row; `score` is with both.
    """
    if isinstance(result, StoredGrade):
        return {"id": result.id, **as_dict(result.grade)}
    fields: dict[str, Any] = msgspec.to_builtins(result, builtin_types=(date, datetime))
    return {**fields, "score": result.score} if isinstance(result, Grade) else fields


def as_frame(results: Iterable[msgspec.Struct]) -> Any:
    """Give results as a `pandas.DataFrame`, one a row; lists within them stay lists.

    Raises:
        InputError: pandas is not installed.
    """
    try:
        pandas = import_module("pandas")
    except ImportError as error:
        raise InputError("a DataFrame needs pandas, which is not installed: pip install pandas") from error
    return pandas.DataFrame([as_dict(result) for result in results])
