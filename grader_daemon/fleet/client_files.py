"""The files of a person that libpq reads before it connects: certificates, keys, passwords, services.

Its documentation lists them under "Parameter Key Words".
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

import psycopg
from psycopg.conninfo import conninfo_to_dict

_BY_DEFAULT: Final = (".postgresql", ".pgpass", ".pg_service.conf")
_NAMED: Final = ("sslrootcert", "sslcert", "sslkey", "sslcrl", "sslcrldir", "passfile", "servicefile")


def client_files(url: str, *, home: Path) -> tuple[Path, ...]:
    """Return what may be read for a URL, there or not, among it folders of sockets; not what a service file names."""
    try:
        given = conninfo_to_dict(url)
    except psycopg.Error:  # `connect` says what is wrong with it
        given = {}
    named = [*(str(given.get(name, "")) for name in _NAMED), *str(given.get("host", "")).split(",")]
    return (*(home / name for name in _BY_DEFAULT), *(Path(value) for value in named if os.path.isabs(value)))
