"""Settings. Flags override environment variables (``GRADER_…``), these the TOML file, and the file the defaults.

`config/grader.toml` and docs/settings.md are written from here: ``python -m tests.reference``.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, Literal

from pydantic import Field, PrivateAttr, SecretStr, ValidationError, ValidationInfo, field_validator
from pydantic_settings import BaseSettings, PydanticBaseSettingsSource

from grader_daemon.errors import ConfigurationError
from grader_daemon.grading_settings import GradingSettings, expanded
from grader_daemon.integrations.chat import WebhookFormat, topic_of
from grader_daemon.setting_layers import Environment, Flags, Reading, Record, TomlFile
from grader_daemon.setting_sources import Given, explained, look, refuse_debugging, unknown_variables
from grader_daemon.setting_types import (
    CHECKED_BESIDE,
    Aliases,
    File,
    FleetUrl,
    HeaderLine,
    HeaderSecret,
    HostNames,
    HttpUrl,
    IpAddress,
    LongSecret,
    Paths,
    PostgresUrl,
    Seconds,
    Words,
    is_secret_type,
    server_of,
)

_READING: Final = "reading"
"""What a `Settings` is made with here: values would be taken for parameters of the library. It is no setting."""
_FILES = (
    *("metrics_file", "route_file", "fleet_copy_file", "fleet_tokens_file", "fleet_read_token_file"),
    *("fleet_serve_certificate_file", "fleet_serve_key_file", "dashboard_certificate_file", "dashboard_key_file"),
)
_COMMANDS = ("alert_command", "quality_command")


class Settings(GradingSettings):
    """Everything that can be set. Paths may begin with ``~``; `load_settings` reads them from their sources."""

    _given: Given | None = PrivateAttr(default=None)

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,  # noqa: ARG003  ours knows which variable won
        dotenv_settings: PydanticBaseSettingsSource,  # noqa: ARG003  no .env file of a folder that one happens to be in
        file_secret_settings: PydanticBaseSettingsSource,  # noqa: ARG003
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Return the sources of a reading, the nearest first; behind them come the defaults."""
        refuse_debugging()
        given = init_settings()
        reading: Reading = given.get(_READING) or _reading(given)
        return (
            Flags(settings_cls, reading.flags),
            Environment(settings_cls, reading.given.variables),
            TomlFile(settings_cls, reading.given.file, reading.written),
            Record(settings_cls, reading.given.sources),
        )

    job_seconds: Seconds = Field(
        60.0,
        ge=1,
        le=86400,
        description="How often the daemon looks for reports to write, worse quality, and alerts to send.",
    )
    metrics_file: File | None = Field(
        None,
        examples=["/var/lib/prometheus/node-exporter/grader.prom"],
        description="File of metrics for the textfile collector of Prometheus: docs/metrics.md.",
    )
    alert_webhook_url: HttpUrl | None = Field(
        None,
        examples=["https://alerts.example.org/grader"],
        description="Address that gets alerts by POST, http or https; without it nothing is posted.",
    )
    alert_webhook_format: WebhookFormat = Field(
        "json",
        description="What is posted: our JSON, or a message for a chat server; for ntfy the URL is that of a topic.",
    )
    alert_webhook_secret: SecretStr | None = Field(
        None,
        examples=["a long random text"],
        min_length=16,
        description="Secret that signs what is posted, by HMAC-SHA256; 16 characters or more.",
    )
    alert_command: Words = Field(
        (), description="Program with arguments that gets each alert as JSON on its standard input; no shell."
    )
    alert_timeout_seconds: Seconds = Field(
        10.0, gt=0, le=300, description="Most time that the webhook or the program may take."
    )
    quality_checks_per_day: int = Field(
        0, ge=0, le=1000, description="Most sessions a day that the daemon has a scorer look at; 0: none."
    )
    quality_discrepancy: Seconds = Field(
        1.5, gt=0, le=4, description="Difference from `response_quality` from which on a session is put up for review."
    )
    quality_timeout_seconds: Seconds = Field(60.0, gt=0, le=240, description="Most time for one call of the scorer.")
    quality_command: Words = Field(
        (), description="Program with arguments that scores a redacted session on its standard input; no shell."
    )
    quality_judge_model: str | None = Field(
        None,
        examples=["qwen3-8b"],
        min_length=1,
        max_length=256,
        description="Model that scores instead, by the name its server knows.",
    )
    quality_judge_key: HeaderSecret | None = Field(
        None, examples=["the key"], min_length=1, description="Key for the server of that model, if it asks for one."
    )
    quality_judge_characters: int = Field(
        24_000, ge=10_000, le=1_000_000, description="Most characters sent in one call of that model."
    )
    quality_judge_plain_http: bool = Field(
        default=False, description="Allow http to another machine: what is sent, and the key, can be read on the way."
    )
    quality_judge_url: HttpUrl | None = Field(
        None,
        examples=["http://127.0.0.1:8080/v1"],
        description="Address of that server up to and with /v1; it gets redacted sessions.",
    )
    otlp_header_secret: HeaderLine | None = Field(
        None, examples=["Authorization: Bearer …"], description="Header that the receiver of `push otlp` asks for."
    )
    otlp_schema_url: HttpUrl = Field(
        "https://opentelemetry.io/schemas/1.38.0", description="Version of the conventions that its events name."
    )
    otlp_logs_url: HttpUrl | None = Field(
        None,
        examples=["http://127.0.0.1:4318/v1/logs"],
        description="Address to which `push otlp` sends scores, by OTLP/HTTP; without it nothing is sent.",
    )
    langfuse_public_key: HeaderSecret | None = Field(
        None, examples=["pk-lf-…"], min_length=1, description="Public key of the Langfuse project."
    )
    langfuse_secret_key: HeaderSecret | None = Field(
        None, examples=["sk-lf-…"], min_length=1, description="Secret key of the Langfuse project."
    )
    langfuse_url: HttpUrl | None = Field(
        None,
        examples=["https://cloud.langfuse.com"],
        description="Address of the Langfuse for `push langfuse`; without it nothing is sent.",
    )
    phoenix_api_key: HeaderSecret | None = Field(
        None, examples=["the key"], min_length=1, description="Key for the server of `push phoenix`."
    )
    phoenix_url: HttpUrl | None = Field(
        None,
        examples=["http://127.0.0.1:6006"],
        description="Address of the Phoenix for `push phoenix`; without it nothing is sent.",
    )
    push_timeout_seconds: Seconds = Field(
        10.0, gt=0, le=300, description="Most time that one call of a receiver of scores may take."
    )
    fleet_texts: bool = Field(
        default=False,
        description="Send the fleet words and paths of sessions, too: summaries, claims, files, projects.",
    )
    fleet_url: PostgresUrl | None = Field(
        None,
        examples=["postgresql://grader_host_laptop:…@db.example.org/grader"],
        description="PostgreSQL to which `push fleet` sends grades; without it nothing is sent.",
    )
    fleet_read_token_file: File | None = Field(
        None, examples=["~/.config/grader-daemon/fleet.token"], description="Your token for a fleet at https://."
    )
    fleet_read_url: FleetUrl | None = Field(
        None,
        examples=["postgresql://grader_member_anna:…@db.example.org/grader"],
        description="Fleet that commands ask: its PostgreSQL, or the https:// of its server: docs/fleet.md.",
    )
    fleet_copy_file: File | None = Field(
        None, examples=["/srv/grader/fleet.db"], description="Your copy of the fleet; default: a file in ~/.cache."
    )
    fleet_copy_days: int = Field(92, ge=1, le=36_500, description="Days of sessions that your copy of the fleet holds.")
    fleet_tokens_file: File | None = Field(
        None,
        examples=["/srv/grader/fleet_tokens.json"],
        description="File of the members' tokens, as digests, for `fleet serve`; default: beside the database.",
    )
    fleet_serve_port: int = Field(7655, ge=1, le=65_535, description="Port of `fleet serve`.")
    fleet_serve_certificate_file: File | None = Field(
        None, examples=["~/fleet.pem"], description="Certificate of `fleet serve`."
    )
    fleet_serve_key_file: File | None = Field(None, examples=["~/fleet.key"], description="Key of that certificate.")
    fleet_serve_names: HostNames = Field(
        (), examples=[["grader.example.org"]], description="Names of `fleet serve`, beside its address."
    )
    fleet_serve_address: IpAddress = Field(
        "127.0.0.1", description="Address of `fleet serve`; one that others reach needs a certificate and its key."
    )
    dashboard_port: int = Field(7654, ge=1, le=65_535, description="Port of the page that `dashboard` serves.")
    dashboard_token: LongSecret | None = Field(
        None, examples=["32 characters or more"], description="Token that opens the page; default: one that is made."
    )
    dashboard_certificate_file: File | None = Field(
        None, examples=["~/page.pem"], description="Certificate of the page, for https; needs its key."
    )
    dashboard_key_file: File | None = Field(None, examples=["~/page.key"], description="Key of that certificate.")
    dashboard_names: HostNames = Field(
        (), examples=[["grader.example.org"]], description="Names by which browsers reach the page, beside its address."
    )
    dashboard_address: IpAddress = Field(
        "127.0.0.1", description="Address of the page; one that others reach needs a token, a certificate and its key."
    )
    outcomes_git: bool = Field(
        default=True, description="Whether the work of sessions is followed in git and on disk: docs/outcomes.md."
    )
    outcomes_roots: Paths = Field(
        (),
        examples=[["~/src"]],
        description="Only work in these folders is followed; others are hidden from the service.",
    )
    outcomes_days: int = Field(30, ge=1, le=365, description="Days for which the work of a session is followed.")
    outcomes_seconds: Seconds = Field(2.0, gt=0, le=10, description="Most processor time for one look at a repository.")
    message_search_days: int = Field(
        0,
        ge=0,
        le=3_650,
        description="Days of sessions whose messages can be searched; 0: none: docs/message-search.md.",
    )
    hook_milliseconds: int = Field(
        80,
        ge=10,
        le=60_000,
        description="Most time that an agent with a hook waits for an answer when it wants to stop: docs/hooks.md.",
    )
    skill_roots: Paths = Field((), description="Folders with skills, beside those of the agents: docs/skills.md.")
    route_file: File | None = Field(
        None,
        examples=["~/.timmy/uniwizard/route.json"],
        description="File that tells a router which model: docs/routing.md.",
    )
    route_default: str | None = Field(
        None, examples=["gpt-5-mini"], description="Model to stay with where none is better: docs/routing.md."
    )
    route_max_cost: float | None = Field(
        None, gt=0, examples=[0.5], description="Most dollars that a preferred model may cost a task."
    )
    route_explore: float = Field(
        0.0, ge=0, le=0.1, description="Share of requests that try another model, to learn: docs/routing.md."
    )
    route_aliases: Aliases = Field(
        (), examples=[["fast=gpt-5-mini"]], description="A router's names of models, and those in sessions."
    )
    log_level: Literal["debug", "info", "warning", "error"] = Field(
        "info", description="Lowest level of log lines that are written."
    )
    log_format: Literal["auto", "console", "json"] = Field(
        "auto", description="Form of log lines; auto: console on a terminal, json elsewhere."
    )

    @field_validator("skill_roots", "outcomes_roots", *_FILES)
    @classmethod
    def _from_the_root(cls, value: Any) -> Any:
        return expanded(value)

    @field_validator("alert_webhook_format")
    @classmethod
    def _fit_for_the_url(cls, value: str, validated: ValidationInfo) -> str:
        url = validated.data.get("alert_webhook_url")
        if value == "ntfy" and url is not None:
            topic_of(url)
        return value

    @field_validator(*CHECKED_BESIDE)
    @classmethod
    def _fit_for_the_others(cls, value: Any, validated: ValidationInfo) -> Any:
        return CHECKED_BESIDE[str(validated.field_name)](value, validated.data)

    @property
    def fleet_server(self) -> str | None:
        """The server that answers for a fleet, without a slash at its end; None where its PostgreSQL is asked."""
        return None if self.fleet_read_url is None else server_of(self.fleet_read_url)

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
            raise ValueError("only settings of load_settings know where they come from")
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
        return [*unknown_variables(Settings.model_fields), *missing]


def load_settings(*, config: str | os.PathLike[str] | None = None, **flags: Any) -> Settings:
    """Read the settings; `flags` that are None are taken as not given. `config` is the TOML file to read.

    Raises:
        ConfigurationError: one is wrong; the text names it, its source, what was given and what is allowed.
    """
    by_flag = {name: value for name, value in flags.items() if value is not None}
    return _read(_reading(by_flag, config=config))


def settings_of(**values: Any) -> Settings:
    """Return settings of these values alone: neither environment nor file is read.

    Raises:
        ConfigurationError: one is wrong; see `load_settings`.
    """
    return _read(Reading(flags=values, given=_alone(Path(os.devnull)), written={}))


def settings_in(file: Path, written: Mapping[str, Any]) -> Settings:
    """Return the settings that a file has when this is written in it; the environment is not read.

    Raises:
        ConfigurationError: one is wrong; see `load_settings`.
    """
    return _read(Reading(flags={}, given=_alone(file), written=written))


def _reading(flags: Mapping[str, Any], *, config: str | os.PathLike[str] | None = None) -> Reading:
    return Reading(flags=flags, given=look(config=config, names=Settings.model_fields))


def _alone(file: Path) -> Given:
    return Given(sources={}, variables={}, file=file, is_file_named=True)


def _read(reading: Reading) -> Settings:
    given: dict[str, Any] = {_READING: reading}
    try:
        settings = Settings(**given)
    except ValidationError as error:
        fault = error.errors()[0]
        words = explained(fault, reading.given, names=Settings.model_fields, is_secret=is_secret)
        raise ConfigurationError(words) from error
    settings._given = reading.given  # noqa: SLF001  what pydantic calls private is ours
    return settings


def is_list(name: str) -> bool:
    """Return whether a setting holds several values."""
    return isinstance(Settings.model_fields[name].default, tuple)


def is_secret(name: str) -> bool:
    """Return whether the value of a setting may not be shown: a key, a token, an address with a password in it."""
    return is_secret_type(Settings.model_fields[name].annotation)
