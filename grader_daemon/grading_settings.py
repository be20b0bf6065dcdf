"""Settings for finding and grading sessions; `settings` adds those for alerts, pages and other uses of grades."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

from pydantic import Field, field_validator
from pydantic_settings import BaseSettings, SettingsConfigDict

from grader_daemon.setting_properties import SettingProperties
from grader_daemon.setting_sources import DEFAULT_DB_PATH, ENVIRONMENT_PREFIX, ROOTS, absolute
from grader_daemon.setting_types import AdapterRoots, File, Paths, Pauses, Seconds, SourceNames, Whole, ZoneName


def expanded(value: Any) -> Any:
    """Return the path, or the paths, of a setting from the root; none stays none.

    Raises:
        ValueError: one begins with a home folder that nobody knows.
    """
    if isinstance(value, tuple):
        return tuple(absolute(path) for path in value)
    return None if value is None else absolute(value)


class GradingSettings(SettingProperties, BaseSettings):
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
        description="Agents whose sessions are graded, or adapters for other agents; see docs/sources.md.",
    )
    sources_declined: SourceNames = Field(
        (), description="Agents you declined: their sessions are not graded, and no hint mentions them."
    )
    watch_roots: Paths = Field(
        (Path("~/.timmy"),), min_length=1, description="Folders with sessions of Hermes, subfolders included."
    )
    claude_code_roots: Paths = Field(
        (), description="Folders with sessions of Claude Code. Default: Claude Code's folder `projects`."
    )
    codex_roots: Paths = Field((), description="Folders with sessions of Codex. Default: Codex's folder `sessions`.")
    opencode_roots: Paths = Field(
        (), description="Folders with sessions of OpenCode. Default: where OpenCode writes them."
    )
    gemini_cli_roots: Paths = Field(
        (), description="Folders with sessions of Gemini CLI. Default: Gemini CLI's folder `tmp`."
    )
    copilot_roots: Paths = Field(
        (), description="Folders with sessions of Copilot CLI. Default: Copilot CLI's folder `session-state`."
    )
    qwen_code_roots: Paths = Field(
        (), description="Folders with sessions of Qwen Code. Default: Qwen Code's folder `projects`."
    )
    cline_roots: Paths = Field(
        (),
        description="Folders with sessions of Cline, Roo Code and Kilo Code. Default: where these agents write them.",
    )
    openclaw_roots: Paths = Field(
        (), description="Folders with sessions of OpenClaw. Default: OpenClaw's folder `agents`."
    )
    pi_roots: Paths = Field(
        (),
        description="Folders with sessions of pi, oh-my-pi and prime-agent. Default: these agents' folders `sessions`.",
    )
    atif_roots: Paths = Field((), description="Folders with ATIF trajectories; none by default.")
    mini_swe_agent_roots: Paths = Field((), description="Folders with runs of mini-SWE-agent; none by default.")
    openhands_roots: Paths = Field(
        (), description="Folders with sessions and evaluations of OpenHands. Default: where OpenHands writes sessions."
    )
    adapter_roots: AdapterRoots = Field(
        (),
        examples=[["acme=~/.acme/sessions"]],
        description="Folders whose sessions an adapter reads, as NAME=FOLDER. Default: the adapter's own folders.",
    )
    db_path: File = Field(DEFAULT_DB_PATH, description="Database of grades; created if it does not exist.")
    rules_file: File | None = Field(
        None,
        examples=["~/.config/grader-daemon/rules.toml"],
        description="Your own rules, which override the shipped ones; see grader_daemon/rules/rules.toml.",
    )
    calibration_prior: File | None = Field(
        None,
        examples=["~/.config/grader-daemon/prior.json"],
        description="File written by `calibration train` that replaces the shipped trained model.",
    )
    verdict: Literal["auto", "rules", "model"] = Field(
        "auto",
        description="What gives verdicts without a label: rules or trained model; `auto` takes the more reliable one.",
    )
    quiet_seconds: Seconds = Field(
        2.0, ge=0, le=3600, description="Grade a session after this long without a write to its file."
    )
    max_wait_seconds: Seconds = Field(
        30.0,
        ge=0,
        le=86400,
        description="Longest wait from an ungraded write to the grade, even if the agent writes more.",
    )
    idle_minutes: Seconds = Field(
        30.0, gt=0, le=10080, description="Count an unfinished session as interrupted after this long without a write."
    )
    scan_seconds: Seconds = Field(
        60.0, ge=1, le=86400, description="Minimum time between two scans that compare all folders with the database."
    )
    scan_cpu_share: Seconds = Field(
        0.001, gt=0, le=1, description="Maximum share of one CPU for scans of all folders while file events work."
    )
    queue_size: Whole = Field(
        10_000,
        ge=1,
        le=10_000_000,
        description="Maximum files that wait in memory to be graded; more files wait on disk.",
    )
    batch_sessions: Whole = Field(500, ge=1, le=10_000, description="Maximum sessions saved in one transaction.")
    batch_milliseconds: Seconds = Field(
        50.0, ge=0, le=10_000, description="Maximum time to collect sessions for one transaction."
    )
    max_file_bytes: Whole = Field(
        268_435_456,
        ge=1024,
        le=100_000_000_000,
        description="Skip larger files. Grading a file needs memory of up to 3.5 times its size.",
    )
    max_messages: Whole = Field(
        100_000, ge=1, le=1_000_000_000, description="Skip sessions with more messages than this."
    )
    max_values: Whole = Field(
        1_000_000,
        ge=1000,
        le=100_000_000_000,
        description="Skip sessions with more JSON values than this; each value needs up to 130 bytes of memory.",
    )
    max_cpu_seconds_per_100_mb: Seconds = Field(
        20.0,
        gt=0,
        le=86_400,
        description="Give up on a file above 2 MB after this much CPU time per 100 MB, but not before 5 s.",
    )
    retry_seconds: Pauses = Field(
        (5.0, 30.0, 120.0, 600.0, 3600.0),
        min_length=1,
        description="Seconds to wait before the first, second, … retry to grade a file; then the daemon gives up.",
    )
    timezone: ZoneName | None = Field(
        None,
        examples=["Europe/Berlin"],
        description="Time zone for days, weeks, and times without a zone in session files. Default: the machine's.",
    )

    @field_validator(*ROOTS.values(), "db_path", "rules_file", "calibration_prior")
    @classmethod
    def _expand(cls, value: Any) -> Any:
        return expanded(value)
