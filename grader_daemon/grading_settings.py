"""Settings for session folders and grading; `settings` has those for the use of grades."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any, Literal
from zoneinfo import ZoneInfo

from pydantic import Field, field_validator
from pydantic_settings import BaseSettings, SettingsConfigDict

from grader_daemon.domain.limits import Limits
from grader_daemon.setting_sources import DEFAULT_DB_PATH, ENVIRONMENT_PREFIX, ROOTS, absolute
from grader_daemon.setting_types import AdapterRoots, File, Paths, Pauses, Seconds, SourceNames, ZoneName


def expanded(value: Any) -> Any:
    """Return the path, or the paths, of a setting from the root; none stays none.

    Raises:
        ValueError: one begins with a home folder that nobody knows.
    """
    if isinstance(value, tuple):
        return tuple(absolute(path) for path in value)
    return None if value is None else absolute(value)


class GradingSettings(BaseSettings):
    """Settings for finding, reading, grading and keeping sessions."""

    model_config = SettingsConfigDict(
        extra="forbid",
        validate_default=True,
        frozen=True,
        hide_input_in_errors=True,
        env_prefix=ENVIRONMENT_PREFIX,
        defer_build=True,  # nobody makes these alone
        enable_decoding=False,  # lists in the environment are read by their types, as those of flags are
    )

    sources: SourceNames = Field(
        ("hermes",),
        min_length=1,
        description="The agents whose sessions are graded; see docs/sources.md. Or a name that an adapter gives.",
    )
    sources_declined: SourceNames = Field(
        (), description="Agents whose sessions are neither graded nor mentioned when they are found."
    )
    watch_roots: Paths = Field(
        (Path("~/.timmy"),),
        min_length=1,
        description="Folders with sessions of Hermes, at any depth.",
    )
    claude_code_roots: Paths = Field(
        (), description="Folders with sessions of Claude Code; default: its own `projects`."
    )
    codex_roots: Paths = Field((), description="Folders with sessions of Codex; default: its own `sessions`.")
    opencode_roots: Paths = Field((), description="Folders with sessions of OpenCode; default: its own.")
    gemini_cli_roots: Paths = Field((), description="Folders with sessions of Gemini CLI; default: its own `tmp`.")
    copilot_roots: Paths = Field(
        (), description="Folders with sessions of Copilot CLI; default: its own `session-state`."
    )
    qwen_code_roots: Paths = Field((), description="Folders with sessions of Qwen Code; default: its own `projects`.")
    cline_roots: Paths = Field(
        (), description="Folders with sessions of Cline, Roo Code and Kilo Code; default: their own."
    )
    openclaw_roots: Paths = Field((), description="Folders with sessions of OpenClaw; default: its own `agents`.")
    pi_roots: Paths = Field(
        (), description="Folders with sessions of pi, oh-my-pi and prime-agent; default: their own `sessions`."
    )
    atif_roots: Paths = Field((), description="Folders with ATIF trajectories; none by default.")
    mini_swe_agent_roots: Paths = Field((), description="Folders with runs of mini-SWE-agent; none by default.")
    openhands_roots: Paths = Field(
        (), description="Folders with sessions and evaluations of OpenHands; default: its own."
    )
    adapter_roots: AdapterRoots = Field(
        (),
        examples=[["acme=~/.acme/sessions"]],
        description="Folders with sessions of agents that adapters read, by name; default: as the adapter says.",
    )
    db_path: File = Field(DEFAULT_DB_PATH, description="The database of grades; made if it does not exist.")
    rules_file: File | None = Field(
        None,
        examples=["~/.config/grader-daemon/rules.toml"],
        description="Rules of your own that overlay the shipped ones; see grader_daemon/rules/rules.toml.",
    )
    calibration_prior: File | None = Field(
        None,
        examples=["~/.config/grader-daemon/prior.json"],
        description="A prior of `calibration train` in place of the shipped one.",
    )
    verdict: Literal["auto", "rules", "model"] = Field(
        "auto",
        description="Who says whether a task was completed; auto: whichever of rules and model is known to be better.",
    )
    quiet_seconds: Seconds = Field(
        2.0, ge=0, le=3600, description="A session is graded after this long without a write to its file."
    )
    max_wait_seconds: Seconds = Field(
        30.0,
        ge=0,
        le=86400,
        description="While writes go on, a session is graded at the latest this long after the first of them.",
    )
    idle_minutes: Seconds = Field(
        30.0, gt=0, le=10080, description="An unfinished session counts as interrupted after this long without a write."
    )
    scan_seconds: Seconds = Field(
        60.0, ge=1, le=86400, description="How often, at the most, all folders are compared with the database."
    )
    scan_cpu_share: Seconds = Field(
        0.001, gt=0, le=1, description="The part of one processor that these comparisons may use while watching works."
    )
    queue_size: int = Field(
        10_000, ge=1, le=10_000_000, description="Most files that wait in memory to be graded; the others wait on disk."
    )
    batch_sessions: int = Field(500, ge=1, le=10_000, description="Most sessions saved in one transaction.")
    batch_milliseconds: Seconds = Field(50.0, ge=0, le=10_000, description="How long a transaction gathers sessions.")
    max_file_bytes: int = Field(
        268_435_456,
        ge=1024,
        description="Largest file that is read; grading one takes up to 3.5 times its size of memory.",
    )
    max_messages: int = Field(100_000, ge=1, description="Most messages of a session that is graded.")
    max_values: int = Field(
        1_000_000,
        ge=1000,
        description="Most JSON values of a session that is graded; each takes up to 130 bytes of memory.",
    )
    max_cpu_seconds_per_100_mb: Seconds = Field(
        20.0,
        gt=0,
        le=86_400,
        description="Grading a file of more than 2 MB is given up after this long, and 5 s at least.",
    )
    retry_seconds: Pauses = Field(
        (5.0, 30.0, 120.0, 600.0, 3600.0),
        min_length=1,
        description="Pauses before a file that could not be graded is tried again; after the last try it is given up.",
    )
    timezone: ZoneName | None = Field(
        None,
        examples=["Europe/Berlin"],
        description="Zone of times in session files that name none, and of days and weeks; default: the machine's.",
    )

    @field_validator(*ROOTS.values(), "db_path", "rules_file", "calibration_prior")
    @classmethod
    def _expand(cls, value: Any) -> Any:
        return expanded(value)

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
