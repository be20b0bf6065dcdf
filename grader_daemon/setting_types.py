"""Types of settings: parsing of text values from flags, environment or file."""

from __future__ import annotations

import json
import os
import re
import shlex
from collections.abc import Callable, Mapping
from ipaddress import ip_address
from pathlib import Path
from typing import Annotated, Any, Final, Literal, get_args
from urllib.parse import urlsplit
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from pydantic import AfterValidator, BeforeValidator, Field, SecretStr

from grader_daemon.adapters import installed
from grader_daemon.domain.text import nearest
from grader_daemon.domain.this_machine import is_this_machine, server_of

_PLAIN_HTTP = "quality_judge_plain_http"
_SHORTEST_SECRET = 32


def _listed(value: Any) -> Any:
    """Return a list: one text is its only item, unless it is written as a list, which in the environment is JSON."""
    if not isinstance(value, str | os.PathLike):
        return value
    if not str(value).lstrip().startswith("["):
        return [value]
    try:
        return json.loads(str(value))
    except (ValueError, RecursionError):
        raise ValueError('it looks like a list but is not valid; write it as ["a", "b"]') from None


def _paths(value: Any) -> Any:
    paths = _listed(value)
    if isinstance(value, str) and paths == [value] and os.pathsep in value:
        raise ValueError('write several folders, or one with a colon in its name, as ["/a", "/b"]')
    return [_path(path) for path in paths] if isinstance(paths, list | tuple) else paths


def _path(value: Any) -> Any:
    """Refuse what would silently be the folder that one happens to be in."""
    if value == "":
        raise ValueError("a path is expected, not an empty text")
    if isinstance(value, str) and "://" in value:
        raise ValueError("a path is expected, not a URL")
    return value


def _words(value: Any) -> Any:
    words = _listed(value)
    if isinstance(value, str) and words == [value] and shlex.quote(value) != value:
        raise ValueError('write a program and its arguments as ["notify-send", "Alert"]')
    return words


def _for_a_program(value: tuple[str, ...]) -> tuple[str, ...]:
    if any("\0" in word for word in value):
        raise ValueError("words without a null character are expected")
    return value


def _number(value: Any) -> Any:
    """Refuse what Python takes for 1 or 0."""
    if value is True or value is False:
        raise ValueError("a number is expected")
    return value


def _known_zone(value: str) -> str:
    try:
        ZoneInfo(value)
    except (ZoneInfoNotFoundError, ValueError, OSError) as error:
        raise ValueError("a zone name such as Europe/Berlin is expected") from error
    return value


def _known_source(value: str) -> str:
    """Return the name of a source; one that no package gives now is a fault of that source, which no other pays for."""
    if value in get_args(_BuiltIn):
        return value
    known = (*get_args(_BuiltIn), *installed())  # which takes some ms: only who names another one waits for it
    if value in known:
        return value
    near = nearest(value, known)
    if near is not None or re.fullmatch(r"[a-z0-9][a-z0-9._-]{0,99}", value) is None:
        meant = "" if near is None else f"; did you mean {near}?"
        raise ValueError(f"a source is expected: {', '.join(known)}, or the name of an adapter{meant}")
    return value


def _adapter_root(value: str) -> str:
    name, _, folder = value.partition("=")
    if not name.strip() or not folder.strip() or "\0" in value:
        raise ValueError('write the folder of an adapter as "acme=~/.acme/sessions"')
    return f"{name.strip()}={os.path.abspath(os.path.expanduser(_path(folder.strip())))}"


def _alias(value: str) -> str:
    name, _, model = value.partition("=")
    if not name.strip() or not model.strip():
        raise ValueError('write the two names as "fast=gpt-5-mini"')
    return f"{name.strip()}={model.strip()}"


def _http_url(value: str) -> str:
    url = urlsplit(value)
    is_fit = url.scheme in {"http", "https"} and url.hostname and url.port != 0 and url.username is None
    if url.fragment:
        raise ValueError("a URL without # is expected: a server does not receive what follows it")
    if not is_fit or not value.isascii() or not value.isprintable() or " " in value:
        raise ValueError("a URL that begins with http:// or https:// is expected")
    return value


def _fit_for_a_header(value: SecretStr) -> SecretStr:
    key = value.get_secret_value()
    if not key.isascii() or not key.isprintable():
        raise ValueError("a key of printable ASCII characters is expected")
    return value


def _is_a_header(value: SecretStr) -> SecretStr:
    if not re.fullmatch(r"[A-Za-z0-9-]+: *[!-~][ -~]*", value.get_secret_value()):
        raise ValueError("a line such as Authorization: Bearer … is expected, of printable ASCII characters")
    return value


def _hard_to_guess(value: SecretStr) -> SecretStr:
    if len(value.get_secret_value()) < _SHORTEST_SECRET:
        raise ValueError(f"at least {_SHORTEST_SECRET} characters are expected")
    return value


def _postgres_url(value: SecretStr) -> SecretStr:
    url = value.get_secret_value()
    if not url.startswith(("postgresql://", "postgres://")) or not url.isprintable() or " " in url:
        raise ValueError("a URL that begins with postgresql:// is expected")
    return value


def _fleet_url(value: SecretStr) -> SecretStr:
    url = value.get_secret_value()
    if not url.startswith(("http://", "https://")):
        return _postgres_url(value)
    parts = urlsplit(_http_url(url))
    if parts.query or (parts.scheme == "http" and not is_this_machine(parts.hostname or "")):
        raise ValueError("https is expected for another machine, with nothing after the path")
    return value


def _ip_address(value: str) -> str:
    try:
        return str(ip_address(value))
    except ValueError:
        raise ValueError("an address such as 127.0.0.1 or ::1 is expected") from None


def _host_name(value: str) -> str:
    if not re.fullmatch(r"[A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?", value):
        raise ValueError("a name such as grader.example.org is expected, without a port")
    return value.lower()


def is_fleet_name(name: str) -> bool:
    """Return whether a machine or a person can be called so in a fleet: behind a beginning it names their role."""
    return re.fullmatch(r"[a-z0-9][a-z0-9_-]{0,39}", name) is not None


def judge_url(value: str | None, beside: Mapping[str, Any]) -> str | None:
    """Return where a model is asked, if what is sent there stays secret and the settings `beside` it fit.

    Raises:
        ValueError: they do not.
    """
    if value is None:
        return None
    url = urlsplit(value)
    if url.scheme == "http" and not is_this_machine(url.hostname or "") and not beside.get(_PLAIN_HTTP):
        raise ValueError(f"https is expected for another machine; or set {_PLAIN_HTTP}")
    if beside.get("quality_command"):
        raise ValueError("quality_command is set too; unset one of them")
    if beside.get("quality_judge_model") is None:
        raise ValueError("quality_judge_model must be set too")
    return value


def otlp_url(value: str | None, beside: Mapping[str, Any]) -> str | None:
    """Return where events are sent, if the header stays secret that goes with them.

    Raises:
        ValueError: it does not.
    """
    return _url_for_a_secret(value, beside, "otlp_header_secret")


def langfuse_url(value: str | None, beside: Mapping[str, Any]) -> str | None:
    """Return where Langfuse is, if both keys are there and stay secret.

    Raises:
        ValueError: they are not, or do not.
    """
    if value is not None and not (beside.get("langfuse_public_key") and beside.get("langfuse_secret_key")):
        raise ValueError("langfuse_public_key and langfuse_secret_key must be set too")
    return _url_for_a_secret(value, beside, "langfuse_secret_key")


def phoenix_url(value: str | None, beside: Mapping[str, Any]) -> str | None:
    """Return where Phoenix is, if its key stays secret.

    Raises:
        ValueError: it does not.
    """
    return _url_for_a_secret(value, beside, "phoenix_api_key")


def _url_for_a_secret(value: str | None, beside: Mapping[str, Any], secret: str) -> str | None:
    url = urlsplit(value or "")
    if url.scheme == "http" and not is_this_machine(url.hostname or "") and beside.get(secret):
        raise ValueError(f"https is expected for another machine, because {secret} is sent there")
    return value


def read_url(value: SecretStr | None, beside: Mapping[str, Any]) -> SecretStr | None:
    """Return where a fleet is asked, if there is a token for its server.

    Raises:
        ValueError: there is none.
    """
    is_served = value is not None and server_of(value.get_secret_value()) is not None
    if is_served and beside.get("fleet_read_token_file") is None:
        raise ValueError("fleet_read_token_file must be set too: grader-daemon fleet add-token NAME creates a token")
    return value


def page_address(value: str, beside: Mapping[str, Any]) -> str:
    """Return where the page answers, if the settings `beside` it keep out strangers who reach it there.

    Raises:
        ValueError: they do not.
    """
    return _closed_to_strangers(value, beside, of="dashboard", others=("dashboard_token",))


def fleet_address(value: str, beside: Mapping[str, Any]) -> str:
    """Return where a fleet is served, if what is said there cannot be read on the way.

    Raises:
        ValueError: it can.
    """
    return _closed_to_strangers(value, beside, of="fleet_serve")


def _closed_to_strangers(value: str, beside: Mapping[str, Any], *, of: str, others: tuple[str, ...] = ()) -> str:
    files = (f"{of}_certificate_file", f"{of}_key_file")
    tls = [beside.get(name) is not None for name in files]
    if any(tls) and not all(tls):
        raise ValueError(f"set both {' and '.join(files)}, or neither")
    if not is_this_machine(value) and any(beside.get(name) is None for name in (*others, *files)):
        raise ValueError(f"other machines can reach it: {', '.join((*others, files[0]))} and {files[1]} must be set")
    if ip_address(value).is_unspecified and not beside.get(f"{of}_names"):
        raise ValueError(f"this means every address: also set {of}_names to the host names that browsers use")
    return value


def is_secret_type(annotation: Any) -> bool:
    """Return whether values of a type may not be shown, or could be secrets."""
    return annotation is SecretStr or any(map(is_secret_type, get_args(annotation)))


Whole = Annotated[int, BeforeValidator(_number)]
Number = Annotated[float, Field(allow_inf_nan=False), BeforeValidator(_number)]
Seconds = Number
Pauses = Annotated[tuple[Annotated[Seconds, Field(ge=0, le=2_592_000)], ...], BeforeValidator(_listed)]
File = Annotated[Path, BeforeValidator(_path)]
Paths = Annotated[tuple[Path, ...], BeforeValidator(_paths)]
_BuiltIn = Literal[
    "hermes",
    "claude-code",
    "codex",
    "opencode",
    "gemini-cli",
    "copilot",
    "qwen-code",
    "cline",
    "openclaw",
    "pi",
    "atif",
    "mini-swe-agent",
    "openhands",
]
SourceName = Annotated[_BuiltIn | str, AfterValidator(_known_source)]
SourceNames = Annotated[tuple[SourceName, ...], BeforeValidator(_listed)]
AdapterRoots = Annotated[tuple[Annotated[str, AfterValidator(_adapter_root)], ...], BeforeValidator(_listed)]
Words = Annotated[tuple[str, ...], BeforeValidator(_words), AfterValidator(_for_a_program)]
ZoneName = Annotated[str, AfterValidator(_known_zone)]
HttpUrl = Annotated[str, AfterValidator(_http_url)]
HeaderSecret = Annotated[SecretStr, AfterValidator(_fit_for_a_header)]
HeaderLine = Annotated[SecretStr, AfterValidator(_is_a_header)]
LongSecret = Annotated[HeaderSecret, AfterValidator(_hard_to_guess)]
FleetUrl = Annotated[SecretStr, AfterValidator(_fleet_url)]
PostgresUrl = Annotated[SecretStr, AfterValidator(_postgres_url)]
IpAddress = Annotated[str, AfterValidator(_ip_address)]
Aliases = Annotated[tuple[Annotated[str, AfterValidator(_alias)], ...], BeforeValidator(_listed)]
HostNames = Annotated[tuple[Annotated[str, AfterValidator(_host_name)], ...], BeforeValidator(_listed)]

CHECKED_BESIDE: Final[Mapping[str, Callable[[Any, Mapping[str, Any]], Any]]] = {
    "quality_judge_url": judge_url,
    "otlp_logs_url": otlp_url,
    "langfuse_url": langfuse_url,
    "phoenix_url": phoenix_url,
    "fleet_read_url": read_url,
    "fleet_serve_address": fleet_address,
    "dashboard_address": page_address,
}
"""What checks a setting together with those that are declared before it."""
