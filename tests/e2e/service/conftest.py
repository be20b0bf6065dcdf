"""One box for all tests of the service; none of them installs anything that another relies on."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import pytest

from tests.e2e.service.box import CONFIG, Box, booted, require_box


class Installed(NamedTuple):
    """See `installed`."""

    box: Box
    said: str


@pytest.fixture(scope="session")
def booted_box(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Box]:
    """A box with the wheel in it, and no service."""
    require_box()
    with booted(tmp_path_factory.mktemp("box")) as box:
        yield box


@pytest.fixture
def box(booted_box: Box) -> Iterator[Box]:
    """The box without a service; what a test installs is gone after it, with its settings, database and sessions."""
    booted_box.clear()
    yield booted_box
    booted_box.clear()


@pytest.fixture(scope="module")
def installed(booted_box: Box) -> Iterator[Installed]:
    """A service that runs, and what was said when it was installed; for tests that take nothing away from it."""
    booted_box.put(CONFIG, b"quiet_seconds = 0.1")
    said = booted_box.grader("service install")
    yield Installed(booted_box, said)
    booted_box.clear()
