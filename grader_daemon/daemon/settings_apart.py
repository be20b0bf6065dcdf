"""Settings as plain values, read and checked by a process that ends: what that takes stays in no daemon's memory.

The library of settings, and what it made of a hundred of them, is a quarter of what a daemon at rest would hold.
"""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, cast

from grader_daemon.errors import ConfigurationError
from grader_daemon.setting_sources import ROOTS

if TYPE_CHECKING:
    from grader_daemon.settings import Settings

_LIBRARY: Final = "grader_daemon.settings"
_ASKED: Final = f"from {__name__} import answer; answer()"


class PlainSettings:
    """Settings and properties of `Settings`, read once; they say the same and can be changed as little."""

    def __init__(self, values: Mapping[str, Any], roots: Mapping[str, tuple[Path, ...]]) -> None:
        """`roots` are the folders that are set for each source."""
        vars(self).update(values)
        self._roots = roots

    def __setattr__(self, name: str, value: object) -> None:
        """Allow what is made here alone."""
        if name in vars(self) or not name.startswith("_"):
            raise AttributeError(f"{name}: settings do not change")
        super().__setattr__(name, value)

    def roots_of(self, source: str) -> tuple[Path, ...]:
        """Return the folders that are set for a source, whether it is enabled or not."""
        return self._roots.get(source, ())


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


def read_apart(flags: Mapping[str, Any]) -> Settings:
    """Read the settings as `load_settings` does, in a process that ends.

    It reads them in this process if their library is loaded, or if no other process can be started or does not answer.

    Raises:
        ConfigurationError: one is wrong.
    """
    return _settled(_read(flags) if _LIBRARY in sys.modules else _asked(flags))


def read_here(flags: Mapping[str, Any]) -> Settings:
    """Read the same in this process, in half the time: for one that ends soon.

    Raises:
        ConfigurationError: one is wrong.
    """
    return _settled(_read(flags))


def answer() -> None:
    """Read the settings under the flags on standard input, and write on standard output what became of them."""
    sys.stdout.buffer.write(pickle.dumps(_read(pickle.load(sys.stdin.buffer))))  # noqa: S301  of who started this


def _settled(answered: object) -> Settings:
    if isinstance(answered, ConfigurationError):
        raise answered
    return cast("Settings", answered)


def _asked(flags: Mapping[str, Any]) -> object:
    try:
        process = subprocess.run(
            [sys.executable, "-P", "-c", _ASKED],
            input=pickle.dumps(dict(flags)),
            stdout=subprocess.PIPE,
            env={
                **os.environ,
                "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
                "PYDANTIC_DISABLE_PLUGINS": "__all__",  # they would be handed every setting, secrets too
            },
            start_new_session=True,  # Ctrl-C is for the process that asks
            check=True,
        )
    except (OSError, subprocess.CalledProcessError):
        return _read(flags)
    return pickle.loads(process.stdout)  # noqa: S301  of a process of ours


def _read(flags: Mapping[str, Any]) -> PlainSettings | ConfigurationError:
    from grader_daemon.settings import load_settings

    try:
        return plain(load_settings(**flags))
    except ConfigurationError as error:
        return error


def plain(settings: Settings) -> PlainSettings:
    """Return the same settings as plain values."""
    parents = type(settings).__mro__
    ours = {name for each in parents if each.__module__.startswith("grader_daemon.") for name in vars(each)}
    properties = {name for name in ours if isinstance(getattr(type(settings), name), property)}
    names = {*type(settings).model_fields, *properties, "model_fields_set"}
    by_adapters = (each.partition("=")[0] for each in settings.adapter_roots)
    return PlainSettings(
        {name: _plain_value(getattr(settings, name)) for name in names},
        {name: settings.roots_of(name) for name in (*ROOTS, *by_adapters)},
    )


def _plain_value(value: Any) -> Any:
    return PlainSecret(value.get_secret_value()) if hasattr(value, "get_secret_value") else value
