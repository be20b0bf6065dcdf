"""Properties that follow from settings, of those that the library has checked and of plain ones."""

from __future__ import annotations

import shutil
from collections.abc import Collection
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Final, Protocol, runtime_checkable
from zoneinfo import ZoneInfo

from grader_daemon.adapters import installed
from grader_daemon.domain.limits import Limits
from grader_daemon.domain.this_machine import server_of
from grader_daemon.setting_sources import ROOTS, Given, unknown_variables

_COMMANDS: Final = ("alert_command", "quality_command")


@runtime_checkable
class Secret(Protocol):
    """A setting that is not shown by chance."""

    def get_secret_value(self) -> str:
        """Return what is not shown."""


class SettingProperties:
    """Properties of settings: those who have them have the settings as attributes, with `_given` and `names`."""

    if TYPE_CHECKING:  # where they stand, the library would take them for settings of its own
        sources: tuple[str, ...]
        adapter_roots: tuple[str, ...]
        max_file_bytes: int
        max_messages: int
        max_values: int
        max_cpu_seconds_per_100_mb: float
        idle_minutes: float
        retry_seconds: tuple[float, ...]
        timezone: str | None
        fleet_read_url: Secret | None
        quality_checks_per_day: int
        quality_judge_url: str | None
        quality_command: tuple[str, ...]
        alert_webhook_url: str | None
        alert_command: tuple[str, ...]
        _given: Given | None

        @property
        def names(self) -> Collection[str]:
            """The names of all settings."""

    @property
    def named_roots(self) -> tuple[Path, ...]:
        """The folders that are set for enabled sources; those that a source has by default are not among them."""
        return tuple(root for name in self.sources for root in self.roots_of(name))

    def roots_of(self, source: str) -> tuple[Path, ...]:
        """Return the folders that are set for a source, whether it is enabled or not."""
        if source in ROOTS:
            roots: tuple[Path, ...] = getattr(self, ROOTS[source])
            return roots
        pairs = (each.partition("=") for each in self.adapter_roots)
        return tuple(Path(folder) for name, _, folder in pairs if name == source)

    @property
    def sources_not_installed(self) -> tuple[str, ...]:
        """The enabled sources that this program lacks, and that no installed package provides."""
        others = [name for name in self.sources if name not in ROOTS]
        provided = installed() if others else {}
        return tuple(name for name in others if name not in provided)

    @property
    def limits(self) -> Limits:
        """Limits on how large a session file may be."""
        return Limits(
            bytes=self.max_file_bytes,
            messages=self.max_messages,
            values=self.max_values,
            cpu_seconds_per_100_mb=self.max_cpu_seconds_per_100_mb,
        )

    @property
    def longest_pause(self) -> timedelta:
        """No file is looked at again later than after that; clocks may differ by a minute."""
        return max(timedelta(minutes=self.idle_minutes + 1), timedelta(seconds=max(self.retry_seconds)))

    @property
    def zone(self) -> ZoneInfo | None:
        """`timezone` as a zone; None means the machine's."""
        return None if self.timezone is None else ZoneInfo(self.timezone)

    @property
    def fleet_server(self) -> str | None:
        """The server that answers for a fleet, without a slash at its end; None where its PostgreSQL is asked."""
        return None if self.fleet_read_url is None else server_of(self.fleet_read_url.get_secret_value())

    @property
    def scorer_setting(self) -> str | None:
        """The setting by which the daemon has a scorer to ask; None when it asks nobody."""
        if self.quality_checks_per_day == 0:
            return None
        if self.quality_judge_url is not None:
            return "quality_judge_url"
        return "quality_command" if self.quality_command else None

    @property
    def callers(self) -> tuple[str, ...]:
        """The settings by which the daemon calls a server."""
        judge = self.scorer_setting == "quality_judge_url"
        return (*(("alert_webhook_url",) if self.alert_webhook_url else ()), *(("quality_judge_url",) if judge else ()))

    @property
    def runners(self) -> tuple[str, ...]:
        """The settings by which the daemon runs a program."""
        alerts = ("alert_command",) if self.alert_command else ()
        return (*alerts, *(("quality_command",) if self.scorer_setting == "quality_command" else ()))

    @property
    def channels(self) -> tuple[str, ...]:
        """Ways in which alerts are told beside the log."""
        return (*(("webhook",) if self.alert_webhook_url else ()), *(("command",) if self.alert_command else ()))

    @property
    def given(self) -> Given:
        """Record of what was given by flag, environment and file.

        Raises:
            ValueError: these settings were not read from there.
        """
        if self._given is None:
            raise ValueError("only settings from load_settings know their sources")
        return self._given

    @property
    def warnings(self) -> list[str]:
        """Warnings of what is probably not meant, though it can be worked with; one line each."""
        programs = {name: getattr(self, name)[0] for name in _COMMANDS if getattr(self, name)}
        missing = [
            f"setting {name} ({self.given.said_by(name)}): there is no program {program!r} to run"
            for name, program in programs.items()
            if shutil.which(program) is None
        ]
        return [*unknown_variables(self.names), *missing]
