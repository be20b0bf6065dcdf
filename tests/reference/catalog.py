"""The rules of grades, as tables: each id with its sentence, as `why` prints it."""

from __future__ import annotations

from grader_daemon.grading import CATALOG
from tests.reference.blocks import table

_OF_EVIDENCE = ("ending.", "standing.")


def endings_table() -> str:
    """Return how a session can end."""
    return _table("ending", ("ending.",))


def standings_table() -> str:
    """Return how well the record can support a result."""
    return _table("result", ("standing.",))


def rules_table() -> str:
    """Return the rules behind verdicts and scores."""
    scored = tuple({f"{rule.partition('.')[0]}." for rule in CATALOG} - set(_OF_EVIDENCE))
    return _table("rule", scored)


def _table(name: str, groups: tuple[str, ...]) -> str:
    return table(
        (name, "when"), [(f"`{rule}`", sentence) for rule, sentence in CATALOG.items() if rule.startswith(groups)]
    )
