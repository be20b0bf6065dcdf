"""The columns of exported tables, as a table."""

from __future__ import annotations

import re

from grader_daemon.api.tables import columns
from grader_daemon.domain.grade import Grade
from tests.reference.blocks import table

_BESIDE = {
    "id": "row number",
    "outcome": "done, not_done, unsure or no_answer",
    "verdict": "the outcome as a sentence, with its basis",
    "score": "1 to 5: the mean of efficiency, quality and completion; null if nothing was scored",
}


def columns_table() -> str:
    """Return each column, what it holds, and what it means."""
    meanings = {**_attributes(), **_BESIDE}
    return table(
        ("column", "type", "meaning"), [(f"`{name}`", str(shape), meanings[name]) for name, shape in columns().items()]
    )


def _attributes() -> dict[str, str]:
    """Return what the docstring of a grade says of each attribute."""
    _, _, told = (Grade.__doc__ or "").partition("Attributes:")
    found = re.findall(r"^\s+(\w+): (.*(?:\n(?!\s+\w+: ).*)*)", told, re.MULTILINE)
    return {name: " ".join(meaning.split()).rstrip(".") for name, meaning in found}
