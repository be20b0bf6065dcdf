"""Adapters as they are installed: a module and its entry points in a folder of the path."""

from __future__ import annotations

from pathlib import Path

EXAMPLE = Path(__file__).parents[1] / "docs" / "examples" / "acme-grader"

FAILING = """
from acme_grader import Acme as Working

class Acme(Working):
    {0}
"""


def install(site: Path, *, package: str = "acme-grader", version: str = "1.0") -> None:
    """Install the example of the documents, under this name."""
    module = package.replace("-", "_")
    info = site / f"{module}-{version}.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: {version}\n")
    (info / "entry_points.txt").write_text(f"[grader_daemon.sources]\nacme = {module}:Acme\n")
    (site / f"{module}.py").write_text((EXAMPLE / "acme_grader.py").read_text("utf-8"))
