"""Coverage by tests of this process, a plugin of pytest: those of processes of their own take no longer than without.

Tracing makes what the core does three times as long. That a test of a daemon or of a page came through it, to prepare
or to compare something, shows nothing of how well it is tested.
"""

from __future__ import annotations

from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

_TESTS = Path(__file__).parent
_OF_PROCESSES = {_TESTS / "e2e", _TESTS / "pages"}


@pytest.hookimpl(tryfirst=True)
def pytest_sessionstart(session: pytest.Session) -> None:
    """End the second count of a worker: pytest-cov 7.1 counts there as master too, and goes on so in every pause."""
    if hasattr(session.config, "workerinput"):
        _counting(session.config).cov.stop()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Take tests of processes out of the count."""
    for item in items:
        if not _OF_PROCESSES.isdisjoint(item.path.parents):
            item.add_marker("no_cover")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_setup(item: pytest.Item) -> Generator[None]:
    """Count no fixtures of such a test either; pytest-cov leaves out the test alone."""
    if item.get_closest_marker("no_cover") is None:
        return (yield)
    _counting(item.config).pause()
    try:
        return (yield)
    finally:
        _counting(item.config).resume()


def _counting(config: pytest.Config) -> Any:
    """Return what counts for pytest-cov in this process."""
    plugin: Any = config.pluginmanager.getplugin("_cov")
    return plugin.cov_controller
