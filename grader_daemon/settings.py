"""Settings: flag over environment (``GRADER_…``) over TOML file over default.

`config/grader.toml` and docs/settings.md are written from here: ``python -m tests.reference``.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path
from typing import Any, Final, Literal
from urllib.parse import urlsplit
from zoneinfo import ZoneInfo

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    PrivateAttr,
    SecretStr,
    ValidationError,
    ValidationInfo,
    field_validator,
)

from grader_daemon.domain.limits import Limits
from grader_daemon.errors import ConfigurationError
from grader_daemon.integrations.chat import WebhookFormat, topic_of
from grader_daemon.setting_sources import (
    DEFAULT_DB_PATH,
    Given,
    absolute,
    gather,
    meant,
    unknown_variables,
)
from grader_daemon.setting_types import (
    File,
    HeaderSecret,
    HttpUrl,
    Paths,
    Pauses,
    Seconds,
    SourceNames,
    Words,
    ZoneName,
    is_this_machine,
)

ROOTS: Final[Mapping[str, str]] = {
    "hermes": "watch_roots",
    "claude-code": "claude_code_roots",
    "codex": "codex_roots",
    "opencode": "opencode_roots",
    "gemini-cli": "gemini_cli_roots",
    "atif": "atif_roots",
}
"""By the name of a source: the setting of the folders that are watched and walked for it."""

_PLAIN_HTTP = "quality_judge_plain_http"
_JSON_BEGINS = ("[", "{", '"')


class Settings(BaseModel):
    """Everything that can be set. Paths may begin with ``~``; `load_settings` reads them from their sources."""

    model_config = ConfigDict(extra="forbid", validate_default=True, frozen=True, hide_input_in_errors=True)

    _given: Given | None = PrivateAttr(default=None)

    sources: SourceNames = Field(
        ("hermes",), min_length=1, description="The agents whose sessions are graded; see docs/sources.md."
    )
    sources_declined: SourceNames = Field(
        (), description="Agents that are not told of any more when sessions of theirs are found."
    )
    watch_roots: Paths = Field(
        (Path("~/.timmy"),),
        min_length=1,
        description="Folders in which sessions of Hermes are looked for, at any depth.",
    )
    claude_code_roots: Paths = Field((), description="Those of Claude Code; default: projects in its own folder.")
    codex_roots: Paths = Field((), description="Those of Codex; default: sessions in its own folder.")
    opencode_roots: Paths = Field((), description="Those of OpenCode; default: its own folder.")
    gemini_cli_roots: Paths = Field((), description="Those of Gemini CLI; default: tmp in its own folder.")
    atif_roots: Paths = Field((), description="Folders with runs of which ATIF trajectories are kept; no default.")
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
        2.0, ge=0, le=3600, description="A session is graded when its file was not written to for so long."
    )
    max_wait_seconds: Seconds = Field(
        30.0, ge=0, le=86400, description="It is graded at the latest so long after a write, while more writes come."
    )
    idle_minutes: Seconds = Field(
        30.0, gt=0, le=10080, description="An unfinished session counts as interrupted after so long without a write."
    )
    scan_seconds: Seconds = Field(
        60.0, ge=1, le=86400, description="How often all folders are compared with the database, at the most."
    )
    scan_cpu_share: Seconds = Field(
        0.001, gt=0, le=1, description="The part of one processor that these comparisons may use while watching works."
    )
    queue_size: int = Field(
        10_000, ge=1, le=10_000_000, description="Files that wait to be graded in memory; the others wait on disk."
    )
    batch_sessions: int = Field(
        500, ge=1, le=10_000, description="At most so many sessions are saved in one transaction."
    )
    batch_milliseconds: Seconds = Field(
        50.0, ge=0, le=10_000, description="A transaction gathers sessions for so long."
    )
    max_file_bytes: int = Field(
        268_435_456, ge=1024, description="Larger files are not read; grading one takes up to 3.5 times its size."
    )
    max_messages: int = Field(100_000, ge=1, description="A session with more messages is not graded.")
    max_values: int = Field(
        1_000_000, ge=1000, description="Nor one with more JSON values; each takes up to 130 bytes of memory."
    )
    max_cpu_seconds_per_100_mb: Seconds = Field(
        20.0,
        gt=0,
        le=86_400,
        description="A file of more than 2 MB that takes longer to grade, and longer than 5 s, is given up.",
    )
    retry_seconds: Pauses = Field(
        (5.0, 30.0, 120.0, 600.0, 3600.0),
        min_length=1,
        description="Pauses before a file that could not be graded is tried again; after the last it is given up.",
    )
    timezone: ZoneName | None = Field(
        None,
        examples=["Europe/Berlin"],
        description="Zone of times in session files that name none, and of days and weeks; default: the machine's.",
    )
    job_seconds: Seconds = Field(
        60.0,
        ge=1,
        le=86400,
        description="How often the daemon looks for missing reports, for a degraded quality and for alerts to be sent.",
    )
    alert_webhook_url: HttpUrl | None = Field(
        None,
        examples=["https://alerts.example.org/grader"],
        description="Alerts are posted there as JSON (http or https); nothing is sent without it.",
    )
    alert_webhook_format: WebhookFormat = Field(
        "json",
        description="What is posted: our JSON, or the message of a chat server; ntfy: the URL is that of a topic.",
    )
    alert_webhook_secret: SecretStr | None = Field(
        None,
        examples=["a long random text"],
        min_length=16,
        description="Signs what is posted, with HMAC-SHA256; at least 16 characters.",
    )
    alert_command: Words = Field(
        (), description="A program and its arguments, run for each alert with the JSON as its input; no shell."
    )
    alert_timeout_seconds: Seconds = Field(
        10.0, gt=0, le=300, description="The webhook or the program may take so long."
    )
    quality_checks_per_day: int = Field(
        0, ge=0, le=1000, description="The daemon asks a scorer of quality at most so many times a day; 0: never."
    )
    quality_discrepancy: Seconds = Field(
        1.5,
        gt=0,
        le=4,
        description="People are asked to look where it lies so far from `response_quality`, or further.",
    )
    quality_timeout_seconds: Seconds = Field(60.0, gt=0, le=240, description="One call of the scorer may take so long.")
    quality_command: Words = Field(
        (), description="A program and its arguments as scorer, with the redacted session as its input; no shell."
    )
    quality_judge_model: str | None = Field(
        None,
        examples=["qwen3-8b"],
        min_length=1,
        max_length=256,
        description="A model as scorer instead; the name that its server knows.",
    )
    quality_judge_key: HeaderSecret | None = Field(
        None,
        examples=["the key"],
        min_length=1,
        description="The key that the server of the model asks for, if it does.",
    )
    quality_judge_characters: int = Field(
        24_000, ge=10_000, le=1_000_000, description="Each call of the model has at most so many characters."
    )
    quality_judge_plain_http: bool = Field(
        default=False, description="Allow http to another machine: what is sent, and the key, can be read on the way."
    )
    quality_judge_url: HttpUrl | None = Field(
        None,
        examples=["http://127.0.0.1:8080/v1"],
        description="Where that server is, up to and with /v1; redacted sessions are sent there.",
    )
    log_level: Literal["debug", "info", "warning", "error"] = Field(
        "info", description="Log lines below this level are not written."
    )
    log_format: Literal["auto", "console", "json"] = Field(
        "auto", description="How log lines look: auto is console on a terminal and json elsewhere."
    )

    @field_validator(*ROOTS.values(), "db_path", "rules_file", "calibration_prior")
    @classmethod
    def _expand(cls, value: Any) -> Any:
        if isinstance(value, tuple):
            return tuple(absolute(path) for path in value)
        return None if value is None else absolute(value)

    @field_validator("alert_webhook_format")
    @classmethod
    def _fit_for_the_url(cls, value: str, validated: ValidationInfo) -> str:
        url = validated.data.get("alert_webhook_url")
        if value == "ntfy" and url is not None:
            topic_of(url)
        return value

    @field_validator("quality_judge_url")
    @classmethod
    def _judge_url(cls, value: str | None, validated: ValidationInfo) -> str | None:
        if value is None:
            return None
        others = validated.data
        url = urlsplit(value)
        if url.scheme == "http" and not is_this_machine(url.hostname or "") and not others.get(_PLAIN_HTTP):
            raise ValueError(f"https is expected for another machine; or set {_PLAIN_HTTP}")
        if others.get("quality_command"):
            raise ValueError("quality_command is set too, and only one of them can be asked")
        if others.get("quality_judge_model") is None:
            raise ValueError("quality_judge_model must be set too")
        return value

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
        webhook = () if self.alert_webhook_url is None else ("alert_webhook_url",)
        return (*webhook, *(("quality_judge_url",) if self.scorer_setting == "quality_judge_url" else ()))

    @property
    def runners(self) -> tuple[str, ...]:
        """The settings by which the daemon runs a program."""
        alerts = ("alert_command",) if self.alert_command else ()
        return (*alerts, *(("quality_command",) if self.scorer_setting == "quality_command" else ()))

    @property
    def channels(self) -> tuple[str, ...]:
        """Ways in which alerts are told beside the log."""
        given = {"webhook": self.alert_webhook_url is not None, "command": bool(self.alert_command)}
        return tuple(channel for channel, is_given in given.items() if is_given)

    @property
    def named_roots(self) -> tuple[Path, ...]:
        """The folders that are set for enabled sources; those that a source has by default are not among them."""
        return tuple(root for name in self.sources for root in getattr(self, ROOTS[name]))

    @property
    def limits(self) -> Limits:
        """How large a session file may be."""
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
    def given(self) -> Given:
        """What was given, by flag, environment and file.

        Raises:
            ValueError: these settings were not read from there.
        """
        if self._given is None:
            raise ValueError("only settings of load_settings know where they come from")
        return self._given

    @property
    def warnings(self) -> list[str]:
        """What is probably not meant, though it can be worked with; one line each."""
        commands = ("alert_command", "quality_command")
        programs = {name: getattr(self, name)[0] for name in commands if getattr(self, name)}
        missing = [
            f"setting {name} ({self.given.said_by(name)}): there is no program {program!r} to run"
            for name, program in programs.items()
            if shutil.which(program) is None
        ]
        return [*unknown_variables(Settings.model_fields), *missing]


def load_settings(*, config: str | os.PathLike[str] | None = None, **flags: Any) -> Settings:
    """Read the settings; `flags` that are None are taken as not given. `config` is the TOML file to read.

    Raises:
        ConfigurationError: one is wrong; the text names it, its source, what was given and what is allowed.
    """
    by_flag = {name: value for name, value in flags.items() if value is not None}
    given = gather(by_flag, config=config, names=Settings.model_fields)
    _refuse_json_of_no_list(given)
    return checked(given.values, given)


def checked(values: Mapping[str, Any], given: Given) -> Settings:
    """Return settings of these values, each from its source in `given`.

    Raises:
        ConfigurationError: one is wrong; see `load_settings`.
    """
    try:
        settings = Settings.model_validate(values)
    except ValidationError as error:
        raise ConfigurationError(_explain(error, given)) from error
    settings._given = given  # noqa: SLF001  what pydantic calls private is ours
    return settings


def is_list(name: str) -> bool:
    """Whether a setting holds several values."""
    return isinstance(Settings.model_fields[name].default, tuple)


def is_secret(name: str) -> bool:
    """Whether a setting may not be shown."""
    return name.endswith(("_secret", "_key"))


def _refuse_json_of_no_list(given: Given) -> None:
    """Refuse JSON in the environment where one plain value is expected: its brackets and quotes would be kept."""
    for name, variable in given.variables.items():
        written = os.environ[variable].lstrip()
        if written.startswith(_JSON_BEGINS) and not is_list(name) and not is_secret(name):
            raise ConfigurationError(f"setting {name} (environment {variable}): one plain value is expected, not JSON")


def _explain(error: ValidationError, given: Given) -> str:
    """One line about the first thing that is wrong."""
    first = error.errors()[0]
    name = str(first["loc"][0])
    source = given.said_by(name)
    if first["type"] == "extra_forbidden":
        return f"{source}: there is no setting {name!r}{meant(name, Settings.model_fields)}"
    allowed = first["msg"].removeprefix("Value error, ")
    given_value = "what is given" if is_secret(name) else repr(first["input"])
    return f"setting {name} ({source}): {given_value} is wrong: {allowed}"
