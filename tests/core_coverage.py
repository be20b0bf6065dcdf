"""Coverage of modules by the tests that stand where theirs do, a plugin of pytest; others take no longer than without.

Tracing makes tests take twice as long, or three times, and their collection, too. That a test of a command or of a
daemon came through the core, to prepare or to compare something, shows nothing of how well the core is tested.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

_UNIT = Path(__file__).parent / "unit"
_SLOW_TOO = {_UNIT / room for room in ("analysis", "calibration", "daemon", "domain", "redaction")}
"""Rooms of which the quick tests do not reach every line; elsewhere those of `tests.slow` are not counted."""


_COUNTED = pytest.StashKey[bool]()


@pytest.hookimpl(tryfirst=True)
def pytest_sessionstart(session: pytest.Session) -> None:
    """End the second count of a worker: pytest-cov 7.1 counts there as master too, and goes on so in every pause."""
    if hasattr(session.config, "workerinput"):
        _counting(session.config).cov.stop()


@pytest.hookimpl(wrapper=True)
def pytest_collection(session: pytest.Session) -> Generator[None]:
    """Import what is counted while it is; from here on only tests of it are. Who hands out tests has none."""
    config = session.config
    if hasattr(config, "workerinput") or not config.getoption("numprocesses", None):
        for module in config.getoption("cov_source"):
            _import_all(module)
    _counting(config).pause()
    return (yield)


def _import_all(name: str) -> None:
    module = importlib.import_module(name)
    for _, inner, _ in pkgutil.walk_packages(getattr(module, "__path__", ()), f"{name}."):
        importlib.import_module(inner)


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Choose the tests of what is counted, without slow ones that it does not need."""
    places = {place for module in config.getoption("cov_source") for place in _places(module)}
    for item in items:
        above = {item.path, *item.path.parents}
        left_out = item.get_closest_marker("no_cover") or (
            item.get_closest_marker("slow") and _SLOW_TOO.isdisjoint(above)
        )
        item.stash[_COUNTED] = not left_out and not places.isdisjoint(above)


def _places(module: str) -> tuple[Path, Path]:
    """Return where the tests of a module stand: in a folder, or in a file."""
    _, *rooms, name = module.split(".")
    folder = _UNIT.joinpath(*rooms)
    return folder / name, folder / f"test_{name}.py"


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> Generator[None]:
    """Count the fixtures of a test as the test itself."""
    return (yield from _counted(item))


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None]:
    """Stand around the hook of pytest-cov, which counts again behind each test that is marked `no_cover`."""
    return (yield from _counted(item))


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_teardown(item: pytest.Item) -> Generator[None]:
    """Count what fixtures still do."""
    return (yield from _counted(item))


def _counted(item: pytest.Item) -> Generator[None]:
    """Count what happens inside, but for the machinery between tests, which would take twice as long."""
    if item.stash[_COUNTED]:
        _counting(item.config).resume()
    try:
        return (yield)
    finally:
        _counting(item.config).pause()


def _counting(config: pytest.Config) -> Any:
    """Return what counts for pytest-cov in this process."""
    plugin: Any = config.pluginmanager.getplugin("_cov")
    return plugin.cov_controller
