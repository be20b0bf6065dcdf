"""The dashboard for Grafana that ships with the program, and what it asks of Prometheus."""

from __future__ import annotations

import json
from typing import Any, Final

from tests.documents import ROOT

DASHBOARD: Final[dict[str, Any]] = json.loads((ROOT / "config" / "grafana.json").read_text("utf-8"))

QUERIES: Final = [
    (panel["title"], target["legendFormat"], target["expr"])
    for panel in DASHBOARD["panels"]
    for target in panel["targets"]
]
"""Panel, legend and query."""
