"""Commands that a server of a fleet answers, by https and a token: nothing is copied here.

The command is read here as any other, so what is wrong with it is told at once; then its words are sent, and what the
server says is printed.
"""

from __future__ import annotations

import os
import re
import sys
from typing import TYPE_CHECKING, Final
from zoneinfo import ZoneInfo

import msgspec

from grader_daemon.cli import output, terminal
from grader_daemon.domain.text import clean
from grader_daemon.errors import CallError, ConfigurationError, DeliveryError, InputError
from grader_daemon.integrations.posting import Answer, Poster

if TYPE_CHECKING:
    from grader_daemon.settings import Settings

_OF_THIS_MACHINE: Final = ("--timezone", "--config", "--db-path", "--watch-root", "--db")
"""Options that each command has, with a value: they were read here."""
_SECONDS: Final = 60.0
_MOST_BYTES: Final = 64 * 1024**2
_LONGEST_TOKEN: Final = 1000
_STYLES: Final = re.compile(r"(\x1b\[[0-9;]{0,20}m)")


class _Said(msgspec.Struct):
    output: str
    errors: str
    code: int


class _Refused(msgspec.Struct):
    error: str


def ask_server(settings: Settings) -> int:
    """Print what the server of the fleet says to this command, and return its exit code.

    Raises:
        ConfigurationError: the token cannot be read, or is not known there.
        InputError: the server does not answer such a command.
        CallError, DeliveryError: nothing answers, or it cannot.
    """
    assert settings.fleet_server is not None
    poster = Poster(f"{settings.fleet_server}/api/prompt", timeout_seconds=_SECONDS)
    headers = {"Authorization": f"Bearer {_token(settings)}", "Content-Type": "application/json"}
    try:
        answer = poster.post(msgspec.json.encode(_asked(settings)), headers, most_bytes=_MOST_BYTES)
    except CallError as error:
        raise CallError(
            f"the fleet server {settings.fleet_server} does not answer: {error}; is `grader-daemon fleet serve` running"
            " there, and is fleet_read_url right?"
        ) from error
    said = _read(answer)
    for each in said.output.removesuffix("\n").split("\n") if said.output else ():
        output.line(_cleaned(each) if terminal.has_colours() else clean(each))
    for each in said.errors.splitlines():
        output.error(each)
    return said.code


def _asked(settings: Settings) -> dict[str, object]:
    return {
        "words": _words(sys.argv[1:]),
        "columns": terminal.room(),
        "colours": terminal.has_colours(),
        "zone": settings.timezone or _zone_of_machine(),
    }


def _words(arguments: list[str]) -> list[str]:
    """Return the words of a command without options that say how it is read here."""
    kept, left = list[str](), iter(arguments)
    for word in left:
        if word in _OF_THIS_MACHINE:
            next(left, None)
        elif word.partition("=")[0] not in _OF_THIS_MACHINE:
            kept.append(word)
    return kept


def _zone_of_machine() -> str | None:
    name = os.environ.get("TZ") or os.path.realpath("/etc/localtime").partition("zoneinfo/")[2]
    try:
        return ZoneInfo(name).key
    except (KeyError, ValueError, OSError):
        return None


def _token(settings: Settings) -> str:
    path = settings.fleet_read_token_file
    assert path is not None  # the settings are checked
    try:
        with path.open("rb") as file:
            token = file.read(_LONGEST_TOKEN).decode("ascii").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigurationError(f"fleet_read_token_file: {path} cannot be read: {_why(error)}") from error
    if not token.isprintable() or not token:
        raise ConfigurationError(f"fleet_read_token_file: {path} contains no token")
    return token


def _why(error: Exception) -> str:
    return error.strerror or str(error) if isinstance(error, OSError) else "it is not ASCII text"


def _read(answer: Answer) -> _Said:
    try:
        if answer.is_success:
            return msgspec.json.decode(answer.body, type=_Said)
        said = msgspec.json.decode(answer.body, type=_Refused).error
    except msgspec.MsgspecError:
        said = " ".join(answer.body[:200].decode("utf-8", "replace").split())
    match answer.status:
        case 200:
            raise DeliveryError("the server in fleet_read_url is not a `grader-daemon fleet serve`")
        case 400:
            raise InputError(clean(said))
        case 401:
            raise ConfigurationError(
                "the fleet server refused the token in fleet_read_token_file; ask its administrator for a new one"
            )
        case _:
            raise DeliveryError(f"the fleet server answered {answer.status}: {clean(said)}")


def _cleaned(line: str) -> str:
    """Return a line as a terminal can be given it: with colours, and no other escape."""
    return "".join(piece if _STYLES.fullmatch(piece) else clean(piece) for piece in _STYLES.split(line))
