"""Which files of the repository hold what from the code."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from grader_daemon.cli.completion import WORDS
from tests.reference import (
    catalog,
    commands,
    database,
    keys,
    log_events,
    manual,
    metrics,
    openapi,
    python_api,
    rooms,
    schemas,
    settings,
    tables,
)
from tests.reference.blocks import renewed
from tests.reference.words import words_file

ROOT = Path(__file__).parent.parent.parent
_DOCS = ROOT / "docs"
SCHEMAS = _DOCS / "schemas"
_OPENAPI = _DOCS / "openapi.json"
_SAMPLE = ROOT / "config" / "grader.toml"
_MANUAL = _DOCS / "man" / "grader-daemon.1"
_PICTURE = _DOCS / "pictures" / "rooms.svg"

_BLOCKS: Mapping[str, Mapping[str, Callable[[], str]]] = {
    "architecture.md": {"rooms": rooms.rooms_table, "contracts": rooms.contracts_list},
    "commands.md": {"overview": commands.overview, "details": commands.details},
    "dashboard.md": {"keys": keys.keys_table, "endpoints": openapi.endpoints_table},
    "export.md": {"columns": tables.columns_table},
    "grades.md": {
        "endings": catalog.endings_table,
        "standings": catalog.standings_table,
        "rules": catalog.rules_table,
    },
    "json.md": {"documents": schemas.documents_list, "types": schemas.types_list},
    "log-events.md": {"events": log_events.events_table, "keys": log_events.keys_table},
    "metrics.md": {"metrics": metrics.metrics_table},
    "python-api.md": {
        "methods": python_api.methods,
        "names": python_api.names,
        "adapters": python_api.adapter_names,
    },
    "settings.md": {"settings": settings.settings_table},
    "sql.md": {"tables": database.tables},
}


def written() -> dict[Path, str]:
    """Return what each file should hold."""
    pages = {
        _DOCS / name: renewed((_DOCS / name).read_text("utf-8"), {block: make() for block, make in blocks.items()})
        for name, blocks in _BLOCKS.items()
    }
    files = {SCHEMAS / f"{document.name}.json": _json(schemas.schema_of(document)) for document in schemas.DOCUMENTS}
    sample = settings.sample(_SAMPLE.read_text("utf-8"))
    return {
        **pages,
        **files,
        _OPENAPI: _json(openapi.openapi()),
        _MANUAL: manual.manual(),
        _PICTURE: rooms.picture(),
        _SAMPLE: sample,
        WORDS: words_file(),
    }


def _json(document: Mapping[str, Any]) -> str:
    return json.dumps(document, indent=1, ensure_ascii=False) + "\n"


def leftover() -> list[Path]:
    """Return the schemas of documents that are none any more."""
    return sorted(set(SCHEMAS.glob("*.json")) - written().keys())
