"""Every unit test watches how SQLite goes about the statements that it brings about."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.plans import watched_statements


@pytest.fixture(autouse=True)
def statements_cost_the_same_after_years() -> Iterator[None]:
    """A statement that looks at all of a growing table fails the test; see `tests.plans`."""
    with watched_statements() as found:
        yield
    assert found == []
