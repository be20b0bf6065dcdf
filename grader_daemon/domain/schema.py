"""What every JSON document that this package gives out says of itself."""

from __future__ import annotations

from typing import Final

SCHEMA_VERSION: Final = 1
"""Raised when a document changes in a way that its readers would notice."""
