"""The features of a session, in their order: measures, and behind them marks, each of which is 0 or 1."""

from __future__ import annotations

from typing import Final

MARKS: Final = 768
"""So many features at the end are marks."""
