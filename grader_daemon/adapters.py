"""Adapters: third-party sources, found as entry points and imported only if enabled."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final, NamedTuple

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

GROUP: Final = "grader_daemon.sources"
"""Group of the entry points; the name of one is that of its source."""
NOT_PROVIDED: Final = "no installed package provides it: install the package, or remove the name from sources"
"""Fault of a source whose adapter is not installed."""


class Adapter(NamedTuple):
    """An adapter that is installed: the name of its source, its package with the version, and what loads its class."""

    name: str
    package: str
    entries: tuple[EntryPoint, ...]

    def load(self) -> Any:
        """Import the class.

        Raises:
            Exception: of any kind; it is not our code.
        """
        if len(self.entries) != 1:
            raise LookupError(f"{self.name}: {len(self.entries)} installed packages provide it; keep one")
        return self.entries[0].load()


def installed() -> Mapping[str, Adapter]:
    """Return the adapters beside this program by the names of their sources; nothing of theirs is imported."""
    from importlib.metadata import entry_points  # some ms, for who has no adapter too

    found: dict[str, Adapter] = {}
    for entry in sorted(entry_points(group=GROUP), key=lambda entry: (entry.name, entry.value)):
        package = "an unknown package" if entry.dist is None else f"{entry.dist.name} {entry.dist.version}"
        known = found.get(entry.name, Adapter(entry.name, package, ()))
        if known.entries and known.package != package:
            known = known._replace(package=f"{known.package} and {package}")
        found[entry.name] = known._replace(entries=(*known.entries, entry))
    return found


def missing(name: str) -> Adapter:
    """Return what stands for an adapter that was there when the settings were read; it cannot be loaded."""
    return Adapter(name, "no installed package", ())
