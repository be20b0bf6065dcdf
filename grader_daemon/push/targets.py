"""Scores for other programs: each way out is a follower of the change feed, with a place of its own in it."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final

from grader_daemon import bootstrap
from grader_daemon.api.context import GraderContext
from grader_daemon.errors import ConfigurationError
from grader_daemon.push.score_export import ScoreExport

if TYPE_CHECKING:
    from grader_daemon.push.evaluations import ScoreSink
    from grader_daemon.setting_properties import Secret

_AT_ONCE: Final = 200
_AT_ONCE_ONE_BY_ONE: Final = 20
"""Where each score is a request: what is sent again after an interruption, or when it was too much at once."""


def otlp_export(context: GraderContext) -> ScoreExport:
    """Return what sends scores as events of OpenTelemetry.

    Raises:
        ConfigurationError: nobody said where to.
        NoDatabaseError: nothing was graded yet.
    """
    from grader_daemon.push.otlp import OtlpLogs

    settings = context.settings
    sink = OtlpLogs(
        _required(settings.otlp_logs_url, "otlp_logs_url", "http://127.0.0.1:4318/v1/logs"),
        header=_secret(settings.otlp_header_secret),
        schema_url=settings.otlp_schema_url,
        database=context.writable.identity,
        clock=context.now,
        timeout_seconds=settings.push_timeout_seconds,
    )
    return _export(context, sink, follower="otlp", at_once=_AT_ONCE)


def langfuse_export(context: GraderContext) -> ScoreExport:
    """Return what sends scores to Langfuse; raises as `otlp_export` does."""
    from grader_daemon.push.langfuse import Langfuse

    settings = context.settings
    sink = Langfuse(
        _required(settings.langfuse_url, "langfuse_url", "https://cloud.langfuse.com"),
        public_key=_secret(settings.langfuse_public_key) or "",
        secret_key=_secret(settings.langfuse_secret_key) or "",
        timeout_seconds=settings.push_timeout_seconds,
    )
    return _export(context, sink, follower="langfuse", at_once=_AT_ONCE_ONE_BY_ONE)


def phoenix_export(context: GraderContext) -> ScoreExport:
    """Return what sends scores to Phoenix; raises as `otlp_export` does."""
    from grader_daemon.push.phoenix import Phoenix

    settings = context.settings
    sink = Phoenix(
        _required(settings.phoenix_url, "phoenix_url", "http://127.0.0.1:6006"),
        api_key=_secret(settings.phoenix_api_key),
        timeout_seconds=settings.push_timeout_seconds,
    )
    return _export(context, sink, follower="phoenix", at_once=_AT_ONCE)


def _export(context: GraderContext, sink: ScoreSink, *, follower: str, at_once: int) -> ScoreExport:
    store = context.writable
    trust = partial(bootstrap.read_trust, context.settings, store)
    return ScoreExport(store, sink, follower=follower, trust=trust, at_once=at_once)


def _required(url: str | None, setting: str, example: str) -> str:
    if url is None:
        raise ConfigurationError(
            f"setting {setting} is missing; for example: grader-daemon config set {setting} {example}"
        )
    return url


def _secret(value: Secret | None) -> str | None:
    return None if value is None else value.get_secret_value()
