"""Sources of settings for pydantic-settings (flags, environment, TOML file), and a record of each value's source."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from pydantic.fields import FieldInfo
from pydantic_settings import BaseSettings, PydanticBaseSettingsSource

from grader_daemon.errors import ConfigurationError
from grader_daemon.setting_sources import Given, Source, read_file
from grader_daemon.setting_types import is_secret_type

_JSON_BEGINS: Final = ("[", "{", '"')


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """One reading of the settings: the flags, and by `given` the variables and the file that are looked at.

    Afterwards `given` names the source of each setting. `written` stands for the content of the file, if it is known.
    """

    flags: Mapping[str, Any]
    given: Given
    written: Mapping[str, Any] | None = None


class _Values(PydanticBaseSettingsSource):
    """A source whose values are known, under the names of settings or under others, which are refused later."""

    def __init__(self, settings_cls: type[BaseSettings], values: Mapping[str, Any]) -> None:
        super().__init__(settings_cls)
        self._values = dict(values)

    def get_field_value(self, field: FieldInfo, field_name: str) -> tuple[Any, str, bool]:  # noqa: ARG002
        """Return the value of a setting; none is read any further."""
        return self._values.get(field_name), field_name, False

    def __call__(self) -> dict[str, Any]:
        """Return the values."""
        return self._values


class Flags(_Values):
    """The flags of a command."""


class Environment(_Values):
    """The variables of settings, each as it is written: the types of settings read lists themselves.

    The library's own source takes the last of ``GRADER_X`` and ``grader_x``, and 5 ms to look at the types of all.
    """

    def __init__(self, settings_cls: type[BaseSettings], variables: Mapping[str, str]) -> None:
        super().__init__(settings_cls, {name: os.environ[variable] for name, variable in variables.items()})
        self._variables = variables

    def __call__(self) -> dict[str, Any]:
        """Return the value of each setting that has a variable.

        Raises:
            ConfigurationError: JSON stands where one plain value is expected: its brackets and quotes would be kept.
        """
        for name, value in self._values.items():
            if value.lstrip().startswith(_JSON_BEGINS) and _is_plain(self.settings_cls.model_fields[name]):
                raise ConfigurationError(
                    f"setting {name} (environment {self._variables[name]}): one plain value is expected, not JSON"
                )
        return super().__call__()


def _is_plain(field: FieldInfo) -> bool:
    """Return whether a setting holds neither several values nor a secret, which may begin in any way."""
    return not isinstance(field.default, tuple) and not is_secret_type(field.annotation)


class TomlFile(_Values):
    """The TOML file, with our sentences for one that cannot be read; the library's own source has none."""

    def __init__(self, settings_cls: type[BaseSettings], path: Path, written: Mapping[str, Any] | None) -> None:
        super().__init__(settings_cls, read_file(path) if written is None else written)


class Record(_Values):
    """The last source: it gives nothing, and notes in `sources` which of those before it gave what."""

    def __init__(self, settings_cls: type[BaseSettings], sources: dict[str, Source]) -> None:
        super().__init__(settings_cls, {})
        self._sources = sources

    def __call__(self) -> dict[str, Any]:
        """Note it, the farthest source first."""
        for layer, given in reversed(self.settings_sources_data.items()):
            self._sources.update(dict.fromkeys(given, _SOURCES[layer]))
        return {}


_SOURCES: Final = {
    Flags.__name__: Source.FLAG,
    Environment.__name__: Source.ENVIRONMENT,
    TomlFile.__name__: Source.FILE,
}
