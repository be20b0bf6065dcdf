"""Units of Hermes' files, and the source that reads them, for tests."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from datetime import UTC, tzinfo

from grader_daemon.domain.limits import Limits
from grader_daemon.domain.unit import Unit
from grader_daemon.sources.hermes.hermes_source import HermesSnapshots
from grader_daemon.sources.protocol import Sources


def unit(path: str | os.PathLike[str]) -> Unit:
    """The unit that a file of Hermes is."""
    return Unit("hermes", os.fspath(path))


def units(paths: Iterable[str | os.PathLike[str]]) -> list[Unit]:
    """The units that files of Hermes are."""
    return [unit(path) for path in paths]


def hermes(
    roots: Sequence[str | os.PathLike[str]] = (), *, zone: tzinfo | None = UTC, limits: Limits | None = None
) -> Sources:
    """Hermes' files alone; times without a zone are UTC."""
    return Sources([HermesSnapshots([os.fspath(root) for root in roots], zone=zone, limits=limits or Limits())])
