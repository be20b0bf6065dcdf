"""Settings as plain values: what a process needs of them that does not hold the library which checks them.

That library, and what it made of a hundred settings, is a quarter of what a daemon at rest would hold, and to load it
takes half of a short command.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from grader_daemon.setting_properties import SettingProperties
from grader_daemon.setting_sources import Given


class PlainSettings(SettingProperties):
    """Settings that were read and checked; they say the same as `Settings` and can be changed as little."""

    def __init__(self, values: Mapping[str, Any], given: Given | None) -> None:
        """`values` are those of all settings by their names, `given` says where they are from."""
        vars(self).update(values)
        self._values = dict(values)
        self._given = given

    @property
    def values(self) -> Mapping[str, Any]:
        """The values of all settings, by their names."""
        return self._values

    @property
    def names(self) -> Collection[str]:
        """The names of all settings."""
        return self._values

    @property
    def model_fields_set(self) -> set[str]:
        """Names of the settings that were set."""
        return set() if self._given is None else {*self._given.sources}

    def model_copy(self, *, update: Mapping[str, Any]) -> PlainSettings:
        """Return the same settings with other values for some, which are not checked."""
        return PlainSettings({**self._values, **update}, self._given)

    def __setattr__(self, name: str, value: object) -> None:
        """Allow what is made here alone."""
        if name in vars(self) or not name.startswith("_"):
            raise AttributeError(f"{name}: settings do not change")
        super().__setattr__(name, value)


class PlainSecret:
    """A secret of settings, which is not shown by chance."""

    def __init__(self, value: str) -> None:
        self._value = value

    def __repr__(self) -> str:
        """Show that there is one."""
        return "PlainSecret('**********')"

    def get_secret_value(self) -> str:
        """Return the secret."""
        return self._value


def plain(settings: SettingProperties) -> PlainSettings:
    """Return the same settings as plain values."""
    values = {name: _plain_value(getattr(settings, name)) for name in settings.names}
    return PlainSettings(values, settings._given)  # noqa: SLF001


def _plain_value(value: Any) -> Any:
    return PlainSecret(value.get_secret_value()) if hasattr(value, "get_secret_value") else value
