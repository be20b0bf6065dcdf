"""The name of a source as an argument, or as the value of an option."""

from __future__ import annotations

from typing import Any

import click

from grader_daemon.adapters import installed
from grader_daemon.setting_sources import ROOTS, meant


class SourceName(click.Choice[str]):
    """A source of this program, or else of an adapter that is installed."""

    name = "source"

    def __init__(self) -> None:
        super().__init__(list(ROOTS))

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """See `click.ParamType`."""
        if value in ROOTS:
            return str(super().convert(value, param, ctx))
        known = (*ROOTS, *installed())
        if value not in known:
            hint = meant(value, known) or f"; known: {', '.join(known)}"
            raise click.UsageError(f"there is no agent {value!r}{hint}", ctx)
        return str(value)
