"""Coverage of modules by the tests that stand where theirs do, a plugin of pytest; others take no longer than without.

Tracing makes tests take twice as long, or three times, and their collection, too. That a test of a command or of a
daemon came through the core, to prepare or to compare something, shows nothing of how well the core is tested.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

_UNIT = Path(__file__).parent / "unit"
_SLOW_TOO = {_UNIT / room for room in ("analysis", "calibration", "daemon", "domain", "redaction")}
"""Rooms of which the quick tests do not reach every line; elsewhere those of `tests.slow` are not counted."""


@pytest.hookimpl(wrapper=True)
def pytest_collection(session: pytest.Session) -> Generator[None]:
    """Import what is counted while it is, and what tests it while nothing is; who hands out tests collects none."""
    if session.config.getoption("numprocesses", None) and not hasattr(session.config, "workerinput"):
        return (yield)
    for module in session.config.getoption("cov_source"):
        _import_all(module)
    with _uncounted(session.config):
        return (yield)


def _import_all(name: str) -> None:
    module = importlib.import_module(name)
    for _, inner, _ in pkgutil.walk_packages(getattr(module, "__path__", ()), f"{name}."):
        importlib.import_module(inner)


@pytest.hookimpl(tryfirst=True)
def pytest_sessionstart(session: pytest.Session) -> None:
    """End the second count of a worker: pytest-cov 7.1 counts there as master too, and goes on so in every pause."""
    if hasattr(session.config, "workerinput"):
        _counting(session.config).cov.stop()


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Take tests of anything else out of the count, and slow ones that it does not need."""
    places = {place for module in config.getoption("cov_source") for place in _places(module)}
    for item in items:
        above = {item.path, *item.path.parents}
        is_slow = item.get_closest_marker("slow") is not None
        if places.isdisjoint(above) or (is_slow and _SLOW_TOO.isdisjoint(above)):
            item.add_marker("no_cover")


def _places(module: str) -> tuple[Path, Path]:
    """Return where the tests of a module stand: in a folder, or in a file."""
    _, *rooms, name = module.split(".")
    folder = _UNIT.joinpath(*rooms)
    return folder / name, folder / f"test_{name}.py"


@pytest.hookimpl(wrapper=True)
def pytest_runtest_setup(item: pytest.Item) -> Generator[None]:
    """Count no fixtures of such a test either; pytest-cov leaves out the test alone."""
    if item.get_closest_marker("no_cover") is None:
        return (yield)
    with _uncounted(item.config):
        return (yield)


@contextmanager
def _uncounted(config: pytest.Config) -> Iterator[None]:
    _counting(config).pause()
    try:
        yield
    finally:
        _counting(config).resume()


def _counting(config: pytest.Config) -> Any:
    """Return what counts for pytest-cov in this process."""
    plugin: Any = config.pluginmanager.getplugin("_cov")
    return plugin.cov_controller
