"""Types of settings: how values are read that flag, environment or file give as text."""

from __future__ import annotations

import json
import os
import shlex
from ipaddress import ip_address
from pathlib import Path
from typing import Annotated, Any, Literal
from urllib.parse import urlsplit
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from pydantic import AfterValidator, BeforeValidator, Field, SecretStr


def _listed(value: Any) -> Any:
    """Return a list: one text is its only item, unless it is written as a list, which in the environment is JSON."""
    if not isinstance(value, str | os.PathLike):
        return value
    if not str(value).lstrip().startswith("["):
        return [value]
    try:
        return json.loads(str(value))
    except (ValueError, RecursionError):
        raise ValueError('it begins as a list, and is none; write one as ["a", "b"]') from None


def _paths(value: Any) -> Any:
    paths = _listed(value)
    if isinstance(value, str) and paths == [value] and os.pathsep in value:
        raise ValueError('several folders, or one with a colon in its name, are written as ["/a", "/b"]')
    return [_path(path) for path in paths] if isinstance(paths, list | tuple) else paths


def _path(value: Any) -> Any:
    """Refuse what would silently be the folder that one happens to be in."""
    if value == "":
        raise ValueError("a path is expected, not an empty text")
    return value


def _words(value: Any) -> Any:
    words = _listed(value)
    if isinstance(value, str) and words == [value] and shlex.quote(value) != value:
        raise ValueError('a program and its arguments are written as ["notify-send", "Alert"]')
    return words


def _known_zone(value: str) -> str:
    try:
        ZoneInfo(value)
    except (ZoneInfoNotFoundError, ValueError, OSError) as error:
        raise ValueError("a zone name such as Europe/Berlin is expected") from error
    return value


def _http_url(value: str) -> str:
    url = urlsplit(value)
    is_fit = url.scheme in {"http", "https"} and url.hostname and url.port != 0 and url.username is None
    if not is_fit or not value.isascii() or not value.isprintable() or " " in value:
        raise ValueError("a URL that begins with http:// or https:// is expected")
    return value


def _fit_for_a_header(value: SecretStr) -> SecretStr:
    key = value.get_secret_value()
    if not key.isascii() or not key.isprintable():
        raise ValueError("a key of printable ASCII characters is expected")
    return value


def is_this_machine(host: str) -> bool:
    """Whether the host of a URL is the machine that this program runs on."""
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False


Seconds = Annotated[float, Field(allow_inf_nan=False)]
Pauses = Annotated[tuple[Annotated[Seconds, Field(ge=0, le=2_592_000)], ...], BeforeValidator(_listed)]
File = Annotated[Path, BeforeValidator(_path)]
Paths = Annotated[tuple[Path, ...], BeforeValidator(_paths)]
SourceName = Literal["hermes", "claude-code", "codex", "opencode", "gemini-cli", "atif"]
SourceNames = Annotated[tuple[SourceName, ...], BeforeValidator(_listed)]
Words = Annotated[tuple[str, ...], BeforeValidator(_words)]
ZoneName = Annotated[str, AfterValidator(_known_zone)]
HttpUrl = Annotated[str, AfterValidator(_http_url)]
HeaderSecret = Annotated[SecretStr, AfterValidator(_fit_for_a_header)]
