"""Settings that were read and checked before: while nothing that they follow from changes, they are not checked again.

To load the library that checks them takes half of a short command. They follow from the version of this program, the
flags, the variables ``GRADER_…``, the file, and the home folder, so their values are kept under a digest of these. They
are not kept where they follow from more, as a path does that begins in the present folder, nor with a secret in them.
"""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

import msgspec
import xxhash

from grader_daemon._version import __version__
from grader_daemon.errors import ConfigurationError
from grader_daemon.plain_settings import PlainSecret, PlainSettings
from grader_daemon.setting_sources import ENVIRONMENT_PREFIX, ROOTS, Given, Source, cache_folder, config_file, read_file

_NAME: Final = "checked_settings.json"
"""Of the file, in the folder of what can be made again."""

_LIBRARY: Final = "grader_daemon.settings"
_LARGEST_BYTES: Final = 1_000_000
_BESIDE: Final = ("HOME", "PYDANTIC_SETTINGS_DEBUG")
"""Other variables that say what settings are, or whether they may be read."""

_CHECKING: Final = ("settings.py", "grading_settings.py", "setting_layers.py", "setting_sources.py", "setting_types.py")
"""The program's files that check settings: another one may stand there under the same version."""

_FROM_ANYWHERE: Final = ("/", "~")


class _Kept(msgspec.Struct, frozen=True, kw_only=True):
    """The file: `paths` names the settings whose texts are paths; `sources` to `is_file_named` are those of `Given`."""

    key: str
    values: dict[str, bool | int | float | str | list[int | float | str] | None]
    paths: list[str]
    sources: dict[str, Source]
    variables: dict[str, str]
    file: str
    is_file_named: bool


def is_library_loaded() -> bool:
    """Return whether this process has what checks settings: then to check them again costs little."""
    return _LIBRARY in sys.modules


def checked_settings(flags: Mapping[str, Any], read: Callable[[Mapping[str, Any]], PlainSettings]) -> PlainSettings:
    """Return the settings under these flags as they were checked before; if they are not kept, what `read` returns.

    Raises:
        ConfigurationError: it cannot be known which file is to be read, or `read` raises it.
    """
    key, kept = _key(flags), _read()
    if kept is None or kept.key != key:
        settings = read(flags)
        _keep(key, flags, settings)
        return settings
    given = Given(kept.sources, kept.variables, Path(kept.file), kept.is_file_named)
    return PlainSettings(
        {name: _value(value, is_path=name in kept.paths) for name, value in kept.values.items()}, given
    )


def _keep(key: str, flags: Mapping[str, Any], settings: PlainSettings) -> None:
    """Keep settings if they are the same wherever a command is called, and the file can be written."""
    values, given = settings.values, settings.given
    if any(isinstance(value, PlainSecret) for value in values.values()) or not _is_the_same_everywhere(flags, settings):
        return
    kept = _Kept(
        key=key,
        values={name: _text(value) for name, value in values.items()},
        paths=[name for name, value in values.items() if _is_path(value)],
        sources=given.sources,
        variables=dict(given.variables),
        file=str(given.file),
        is_file_named=given.is_file_named,
    )
    from grader_daemon.integrations.files import replace_file  # seldom: what is kept mostly holds

    place = cache_folder() / _NAME
    with suppress(OSError, UnicodeEncodeError):  # a path need not be UTF-8
        place.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        replace_file(place, msgspec.json.encode(kept).decode())


def _key(flags: Mapping[str, Any]) -> str:
    """Return a digest of all that settings follow from.

    Raises:
        ConfigurationError: it cannot be known where the file is.
    """
    path = config_file(flags.get("config"))
    try:
        written: bytes | str = path.read_bytes()
    except OSError as error:
        written = type(error).__name__  # whether that is wrong is for those who check
    folder = os.path.dirname(__file__)
    checking = [os.stat(os.path.join(folder, name)) for name in _CHECKING]
    variables = {name: value for name, value in os.environ.items() if _says_something(name)}
    return xxhash.xxh3_128_hexdigest(
        repr(
            (
                __version__,
                [(each.st_mtime_ns, each.st_size) for each in checking],
                sorted((name, repr(value)) for name, value in flags.items() if value is not None),
                sorted(variables.items()),
                os.geteuid(),
                str(path),
                written,
            )
        ).encode("utf-8", "surrogatepass")
    )


def _says_something(variable: str) -> bool:
    return variable.upper().startswith(ENVIRONMENT_PREFIX) or variable in _BESIDE


def _read() -> _Kept | None:
    """Read the file; None where it is not there, is another person's, or may be written by one."""
    try:
        with (cache_folder() / _NAME).open("rb") as file:
            status = os.fstat(file.fileno())
            is_own = status.st_uid == os.geteuid() and not status.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
            return msgspec.json.decode(file.read(_LARGEST_BYTES), type=_Kept) if is_own else None
    except (OSError, msgspec.MsgspecError, ValueError, RecursionError):
        return None


def _is_the_same_everywhere(flags: Mapping[str, Any], settings: PlainSettings) -> bool:
    """Return whether settings follow from nothing but what the key tells: neither folder nor installed adapter."""
    if not set(settings.sources) <= ROOTS.keys() or settings.adapter_roots:
        return False
    given = settings.given
    try:
        written = read_file(given.file)
    except ConfigurationError:
        return False
    for name in filter(lambda each: _is_path(settings.values[each]), given.sources):
        said = {
            Source.FLAG: flags.get(name),
            Source.ENVIRONMENT: os.environ.get(given.variables.get(name, "")),
            Source.FILE: written.get(name),
        }
        if not all(text.startswith(_FROM_ANYWHERE) for text in _texts(said[given.sources[name]])):
            return False
    return True


def _texts(said: object) -> Iterator[str]:
    """Yield the paths in what was given for a setting."""
    for each in said if isinstance(said, list | tuple) else (said,):
        yield str(each)


def _is_path(value: object) -> bool:
    return isinstance(value, Path) or (isinstance(value, tuple) and bool(value) and isinstance(value[0], Path))


def _text(value: Any) -> Any:
    if isinstance(value, tuple):
        return [_text(each) for each in value]
    return str(value) if isinstance(value, Path | str) else value


def _value(text: Any, *, is_path: bool) -> Any:
    if isinstance(text, list):
        return tuple(_value(each, is_path=is_path) for each in text)
    return Path(text) if is_path and isinstance(text, str) else text
