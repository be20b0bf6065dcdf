"""Which pages below docs/ hold what from the code."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from tests.reference import commands, log_events, settings
from tests.reference.blocks import renewed

ROOT = Path(__file__).parent.parent.parent
_DOCS = ROOT / "docs"

_BLOCKS: Mapping[str, Mapping[str, Callable[[], str]]] = {
    "commands.md": {"overview": commands.overview, "details": commands.details},
    "log-events.md": {"events": log_events.events_table, "keys": log_events.keys_table},
    "settings.md": {"settings": settings.settings_table},
}


def written() -> dict[Path, str]:
    """Return what each file should hold."""
    return {
        _DOCS / name: renewed((_DOCS / name).read_text("utf-8"), {block: make() for block, make in blocks.items()})
        for name, blocks in _BLOCKS.items()
    }
