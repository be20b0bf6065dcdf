"""Advice on adding a missing package to this installation: grader-daemon is on no index, so extras cannot be named."""

from __future__ import annotations

import shlex
import shutil
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Final

EXTRAS: Final = {
    "archive": ("cryptography>=42", "distributed>=2025.1", "fsspec>=2025.1", "s3fs>=2025.1"),
    "fleet": ("psycopg[binary]>=3.2",),
    "parquet": ("pyarrow>=16",),
}
"""Extras of pyproject.toml that commands ask for."""


def how_to_add(*requirements: str, prefix: Path | None = None) -> str:
    """Return the command that adds packages where this program is installed, by whatever made that place."""
    place = prefix or Path(sys.prefix)
    if (place / "pipx_metadata.json").is_file():
        command = ["pipx", "inject", place.name]
    elif (place / "uv-receipt.toml").is_file() or (find_spec("pip") is None and shutil.which("uv") is not None):
        command = ["uv", "pip", "install", "--python", sys.executable]
    else:
        command = [sys.executable, "-m", "pip", "install"]
    return shlex.join([*command, *requirements])
