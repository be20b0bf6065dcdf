"""Options that several commands share."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from grader_daemon.settings import Settings, load_settings


def settings_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add ``--watch-root`` and ``--db-path``, which stand above environment and configuration file."""
    for option in (
        click.option("--db-path", type=click.Path(path_type=Path), help="The database of grades."),
        click.option(
            "--watch-root",
            "watch_roots",
            multiple=True,
            type=click.Path(path_type=Path),
            help="A folder with sessions; may be given several times.",
        ),
    ):
        command = option(command)
    return command


def read_settings(*, watch_roots: tuple[Path, ...] = (), **flags: Any) -> Settings:
    """Read the settings under what was given as flags.

    Raises:
        ConfigurationError: one is wrong.
    """
    return load_settings(watch_roots=watch_roots or None, **flags)


json_option = click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
"""``--json``, the same for every command that has it."""
