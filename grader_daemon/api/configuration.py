"""The settings as a person looks at them and changes them."""

from __future__ import annotations

import json
import os
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from grader_daemon import bootstrap
from grader_daemon.adapters import NOT_PROVIDED
from grader_daemon.errors import ConfigurationError, GraderError, InputError
from grader_daemon.integrations.files import replace_file
from grader_daemon.setting_properties import Secret
from grader_daemon.setting_sources import Source, config_file, edited, meant, read_file, unknown_zone, variables_of
from grader_daemon.settings import Settings, is_list, is_secret, load_settings, settings_in
from grader_daemon.sources.discovery import is_missing
from grader_daemon.storage.lock import holder_pid, is_running

_TOLD_SECRET = "(set)"  # noqa: S105  what stands in the place of one


class SettingValue(msgspec.Struct, frozen=True, kw_only=True):
    """A setting and its value. Secrets are not shown.

    Attributes:
        source: kind of source: flag, environment, file or default.
        said_by: the source itself: the flag, the variable or the file.
        meaning: what the setting does.
    """

    name: str
    value: Any
    source: Source
    said_by: str
    meaning: str


class Written(msgspec.Struct, frozen=True, kw_only=True):
    """Entry in the settings file.

    Attributes:
        literal: the value as written in the file; None if the setting was removed.
        was_set: whether the setting was in the file before.
        covered_by: the source that still overrides the file, if any.
        warnings: warnings about the new value.
        daemon: process id of a running daemon that keeps using the old value.
    """

    file: Path
    name: str
    literal: str | None
    was_set: bool
    covered_by: str | None
    warnings: tuple[str, ...]
    daemon: int | None


def setting_values(settings: Settings) -> list[SettingValue]:
    """Return every setting, in the order of config/grader.toml."""
    return [setting_value(name, settings) for name in Settings.model_fields]


def setting_value(name: str, settings: Settings) -> SettingValue:
    """Return one setting; raises InputError where there is none of that name."""
    _check_name(name)
    given = settings.given
    return SettingValue(
        name=name,
        value=_shown(getattr(settings, name)),
        source=given.sources.get(name, Source.DEFAULT),
        said_by=given.said_by(name),
        meaning=Settings.model_fields[name].description or "",
    )


def check_settings(settings: Settings) -> list[str]:
    """Return what of the settings is probably not meant, one line each; with what they name: folders, rules, a prior.

    Raises:
        ConfigurationError: the rules or the prior are wrong.
    """
    bootstrap.make_examiner(settings, bootstrap.make_policy(settings, None))
    zone = unknown_zone() if settings.zone is None else []
    given_by = settings.given.said_by("watch_roots")
    missing = [root for root in settings.watch_roots if is_missing(root)]
    return [
        *settings.warnings,
        *zone,
        *(f"setting watch_roots ({given_by}): no such folder: {root}" for root in missing),
        *(
            f"setting sources ({settings.given.said_by('sources')}): {name!r}: {NOT_PROVIDED}"
            for name in settings.sources_not_installed
        ),
    ]


def keep_setting(name: str, values: Sequence[str], *, config: str | None) -> Written:
    """Write a setting into the file of settings, whole or not at all; comments and order stay.

    Lists take several values; without any value the setting is taken out.

    Raises:
        InputError: there is no such setting, or it takes one value.
        ConfigurationError: the value is wrong, or another one in the file, or what it names; nothing was changed.
    """
    _check_name(name)
    if len(values) > 1 and not is_list(name):
        raise InputError(f"{name} takes one value, not {len(values)}")
    file = Path(os.path.realpath(config_file(config)))
    before = read_file(file)
    after = {key: value for key, value in before.items() if key != name}
    if values:
        after[name] = values[0] if len(values) == 1 else list(values)
        after[name] = _written(after[name], getattr(settings_in(file, after, new=name), name))
    settings = settings_in(file, after, new=name)
    if name == "sources":
        _refuse_new(settings.sources_not_installed, known=before.get(name, ()))
    warnings = [words for words in check_settings(settings) if words.startswith(f"setting {name} ")] if values else []
    literal = json.dumps(after[name], ensure_ascii=False) if values else None  # strings, numbers, lists: TOML's, too
    _write(file, name, literal, after)
    told = _TOLD_SECRET if values and is_secret(name) else literal
    return Written(
        file=file,
        name=name,
        literal=told,
        was_set=name in before,
        covered_by=_covered(name),
        warnings=tuple(warnings),
        daemon=_daemon(config),
    )


def _refuse_new(absent: Sequence[str], *, known: Any) -> None:
    """Refuse sources that no package provides; one that is `known` already may have lost its package since.

    Raises:
        ConfigurationError: there is one.
    """
    new = [name for name in absent if name not in ([known] if isinstance(known, str) else known)]
    if new:
        raise ConfigurationError(f"setting sources (new value): {new[0]!r}: no installed package provides it")


def _written(given: Any, value: Any) -> Any:
    """Return a value of the right type as it was written: paths keep their ``~``, and are absolute for any program."""
    match value:
        case tuple():
            items = json.loads(given) if isinstance(given, str) and given.lstrip().startswith("[") else given
            items = items if isinstance(items, list) else [items]
            return [_written(item, each) for item, each in zip(items, value, strict=True)]
        case Path():
            return given if given.startswith(("~", "/")) else os.path.abspath(given)
        case Secret():
            return value.get_secret_value()
        case _:
            return value


def _write(file: Path, name: str, literal: str | None, after: Mapping[str, Any]) -> None:
    text = edited(file.read_text("utf-8-sig") if file.is_file() else "", name, literal)
    try:
        is_right = tomllib.loads(text) == after
    except ValueError:
        is_right = False
    if not is_right:
        raise ConfigurationError(f"{file}: cannot be changed safely; edit {name} there by hand")
    try:
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        replace_file(file, text)
    except OSError as error:
        raise ConfigurationError(f"{file}: cannot be written: {error.strerror}") from error


def _covered(name: str) -> str | None:
    variable = variables_of([name]).get(name)
    return None if variable is None else f"environment {variable}"


def _daemon(config: str | None) -> int | None:
    """Return the process of the daemon that works with these settings."""
    try:
        database = load_settings(config=config).db_path
        return holder_pid(database) if is_running(database) else None
    except GraderError:
        return None


def _check_name(name: str) -> None:
    if name not in Settings.model_fields:
        raise InputError(f"there is no setting {name!r}{meant(name, Settings.model_fields)}")


def _shown(value: Any) -> Any:
    match value:
        case Secret():
            return _TOLD_SECRET
        case Path():
            return str(value)
        case tuple():
            return [_shown(item) for item in value]
        case _:
            return value
