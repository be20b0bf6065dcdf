"""Settings, from flags, environment variables (``GRADER_…``), the TOML file and defaults; the first found counts.

`config/grader.toml` and docs/settings.md are written from here: ``python -m tests.reference``.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any, Final, Literal

from pydantic import Field, PrivateAttr, SecretStr, ValidationError, ValidationInfo, field_validator
from pydantic_settings import BaseSettings, PydanticBaseSettingsSource

from grader_daemon.errors import ConfigurationError
from grader_daemon.grading_settings import GradingSettings, expanded
from grader_daemon.integrations.chat import WebhookFormat, topic_of
from grader_daemon.setting_layers import Environment, Flags, Reading, Record, TomlFile
from grader_daemon.setting_sources import Given, explained, look, refuse_debugging
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
    Number,
    Paths,
    PostgresUrl,
    Seconds,
    Whole,
    Words,
    is_secret_type,
)

_READING: Final = "reading"
"""What a `Settings` is made with here: values would be taken for parameters of the library. It is no setting."""
_FILES = (
    *("metrics_file", "route_file", "fleet_copy_file", "fleet_tokens_file", "fleet_read_token_file"),
    *("fleet_serve_certificate_file", "fleet_serve_key_file", "dashboard_certificate_file", "dashboard_key_file"),
)


class Settings(GradingSettings):
    """All settings. Paths may begin with ``~``; `load_settings` reads the settings from their sources."""

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
        description="How often the daemon writes due reports, looks for worse quality and sends alerts.",
    )
    metrics_file: File | None = Field(
        None,
        examples=["/var/lib/prometheus/node-exporter/grader.prom"],
        description="File of metrics for Prometheus's textfile collector; see docs/metrics.md.",
    )
    alert_webhook_url: HttpUrl | None = Field(
        None,
        examples=["https://alerts.example.org/grader"],
        description="URL that receives alerts by POST, http or https. Default: nothing is posted.",
    )
    alert_webhook_format: WebhookFormat = Field(
        "json", description="Format of posted alerts: JSON, or a message for a chat server. ntfy needs a topic's URL."
    )
    alert_webhook_secret: SecretStr | None = Field(
        None,
        examples=["a long random text"],
        min_length=16,
        description="Secret that signs posted alerts with HMAC-SHA256; at least 16 characters.",
    )
    alert_command: Words = Field(
        (), description="Program and arguments that get each alert as JSON on standard input, without a shell."
    )
    alert_timeout_seconds: Seconds = Field(10.0, gt=0, le=300, description="Timeout for sending an alert.")
    quality_checks_per_day: Whole = Field(
        0, ge=0, le=1000, description="Maximum sessions a day sent to your scorer (a program or model); 0 sends none."
    )
    quality_discrepancy: Seconds = Field(
        1.5, gt=0, le=4, description="Ask for your review if the scorer and `response_quality` differ by this much."
    )
    quality_timeout_seconds: Seconds = Field(60.0, gt=0, le=240, description="Timeout for one call to the scorer.")
    quality_command: Words = Field(
        (), description="Program and arguments that score a redacted session on standard input, without a shell."
    )
    quality_judge_model: str | None = Field(
        None,
        examples=["qwen3-8b"],
        min_length=1,
        max_length=256,
        description="Name, on its server, of the model that scores sessions instead of a program.",
    )
    quality_judge_key: HeaderSecret | None = Field(
        None, examples=["the key"], min_length=1, description="API key for the scoring model's server, if it needs one."
    )
    quality_judge_characters: Whole = Field(
        24_000, ge=10_000, le=1_000_000, description="Maximum characters in one call to the scoring model."
    )
    quality_judge_plain_http: bool = Field(
        default=False,
        description="Allow plain http to another machine's model; the network can then read sessions and key.",
    )
    quality_judge_url: HttpUrl | None = Field(
        None,
        examples=["http://127.0.0.1:8080/v1"],
        description="URL of the scoring model's server, ending in /v1. It receives redacted sessions.",
    )
    otlp_header_secret: HeaderLine | None = Field(
        None,
        examples=["Authorization: Bearer …"],
        description="HTTP header for `export scores otlp`, if its receiver needs one.",
    )
    otlp_schema_url: HttpUrl = Field(
        "https://opentelemetry.io/schemas/1.38.0",
        description="OpenTelemetry schema URL in the events of `export scores otlp`.",
    )
    otlp_logs_url: HttpUrl | None = Field(
        None,
        examples=["http://127.0.0.1:4318/v1/logs"],
        description="URL to which `export scores otlp` sends scores by OTLP/HTTP. Default: nothing is sent.",
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
        description="URL of the Langfuse server for `export scores langfuse`. Default: nothing is sent.",
    )
    phoenix_api_key: HeaderSecret | None = Field(
        None, examples=["the key"], min_length=1, description="API key of the Phoenix server."
    )
    phoenix_url: HttpUrl | None = Field(
        None,
        examples=["http://127.0.0.1:6006"],
        description="URL of the Phoenix server for `export scores phoenix`. Default: nothing is sent.",
    )
    push_timeout_seconds: Seconds = Field(
        10.0, gt=0, le=300, description="Timeout for one call to a server that receives scores."
    )
    fleet_texts: bool = Field(
        default=False, description="Also send summaries, claims, and paths of files and projects to the fleet."
    )
    fleet_url: PostgresUrl | None = Field(
        None,
        examples=["postgresql://grader_host_laptop:…@db.example.org/grader"],
        description="PostgreSQL database to which `fleet push` sends grades. Default: nothing is sent.",
    )
    fleet_read_token_file: File | None = Field(
        None, examples=["~/.config/grader-daemon/fleet.token"], description="File with your token for a fleet server."
    )
    fleet_read_url: FleetUrl | None = Field(
        None,
        examples=["postgresql://grader_member_anna:…@db.example.org/grader"],
        description="URL of the PostgreSQL or https server of the fleet that commands read; see docs/fleet.md.",
    )
    fleet_copy_file: File | None = Field(
        None, examples=["/srv/grader/fleet.db"], description="This machine's copy of the fleet. Default: in ~/.cache."
    )
    fleet_copy_days: Whole = Field(
        92, ge=1, le=36_500, description="Number of days whose sessions this machine's copy of a fleet keeps."
    )
    fleet_tokens_file: File | None = Field(
        None,
        examples=["/srv/grader/fleet_tokens.json"],
        description="File with hashes of the members' tokens for `fleet serve`. Default: next to the database.",
    )
    fleet_serve_port: Whole = Field(7655, ge=1, le=65_535, description="Port of `fleet serve`.")
    fleet_serve_certificate_file: File | None = Field(
        None, examples=["~/fleet.pem"], description="Certificate of `fleet serve`."
    )
    fleet_serve_key_file: File | None = Field(None, examples=["~/fleet.key"], description="Key of that certificate.")
    fleet_serve_names: HostNames = Field(
        (), examples=[["grader.example.org"]], description="Host names of `fleet serve`, besides its IP address."
    )
    fleet_serve_address: IpAddress = Field(
        "127.0.0.1", description="IP address `fleet serve` listens on; if not loopback, also set a certificate and key."
    )
    dashboard_port: Whole = Field(7654, ge=1, le=65_535, description="Port of the dashboard.")
    dashboard_token: LongSecret | None = Field(
        None, examples=["32 characters or more"], description="Token that opens the dashboard. Default: generated."
    )
    dashboard_certificate_file: File | None = Field(
        None, examples=["~/page.pem"], description="TLS certificate of the dashboard; also set `dashboard_key_file`."
    )
    dashboard_key_file: File | None = Field(None, examples=["~/page.key"], description="Key of that certificate.")
    dashboard_names: HostNames = Field(
        (), examples=[["grader.example.org"]], description="Host names of the dashboard, besides its IP address."
    )
    dashboard_address: IpAddress = Field(
        "127.0.0.1", description="IP address of the dashboard; if not loopback, also set a token, certificate and key."
    )
    outcomes_git: bool = Field(
        default=True, description="Follow what becomes of sessions' work in git and on disk; see docs/outcomes.md."
    )
    outcomes_roots: Paths = Field(
        (), examples=[["~/src"]], description="Follow work only in these folders; the service sees no other projects."
    )
    outcomes_days: Whole = Field(30, ge=1, le=365, description="Days to follow the work of a session.")
    outcomes_seconds: Seconds = Field(2.0, gt=0, le=10, description="Maximum CPU time for one check of a repository.")
    message_search_days: Whole = Field(
        0,
        ge=0,
        le=3_650,
        description="Days whose messages are indexed for search; 0 turns search off. See docs/message-search.md.",
    )
    hook_milliseconds: Whole = Field(
        80,
        ge=10,
        le=60_000,
        description="Maximum time an agent waits for the hook's answer when it wants to stop; see docs/hooks.md.",
    )
    skill_roots: Paths = Field((), description="More folders with skills, besides the agents' own; see docs/skills.md.")
    route_file: File | None = Field(
        None,
        examples=["~/.timmy/uniwizard/route.json"],
        description="File that tells a router which model to use; see docs/routing.md.",
    )
    route_default: str | None = Field(
        None, examples=["gpt-5-mini"], description="Model to use if no other is clearly better; see docs/routing.md."
    )
    route_max_cost: Number | None = Field(
        None,
        gt=0,
        examples=[0.5],
        description="Never recommend a model whose cost for each task that did not fail is above this many dollars.",
    )
    route_explore: Number = Field(
        0.0, ge=0, le=0.1, description="Share of requests that go to another model as a try; see docs/routing.md."
    )
    route_aliases: Aliases = Field(
        (), examples=[["fast=gpt-5-mini"]], description="Maps the model names a router uses to the names in sessions."
    )
    log_level: Literal["debug", "info", "warning", "error"] = Field(
        "info", description="Lowest level of log lines to write."
    )
    log_format: Literal["auto", "console", "json"] = Field(
        "auto", description="Format of log lines. `auto` means console on a terminal, and json elsewhere."
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
    def names(self) -> Collection[str]:
        """The names of all settings."""
        return Settings.model_fields


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


def settings_in(file: Path, written: Mapping[str, Any], *, new: str) -> Settings:
    """Return the settings that a file has when this is written in it, `new` too; the environment is not read.

    Raises:
        ConfigurationError: one is wrong; see `load_settings`.
    """
    return _read(Reading(flags={}, given=_alone(file)._replace(new=new), written=written))


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
