"""Prompt of members: commands that only read are run here, over the one copy, for whoever has a token and no copy.

Each is a process of its own, in an empty home: it knows no secret of this machine and none of its sessions, takes so
long and so much at most, and what a member sends cannot change what the others are answered.
"""

from __future__ import annotations

import os
import resource
import site
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import anyio
import click
import msgspec
from starlette.responses import Response

from grader_daemon.api.json_text import json_text
from grader_daemon.cli.all_commands import program
from grader_daemon.cli.groups import CommandWithWays, GroupWithDefault
from grader_daemon.cli.terminal import TERMINAL_VARIABLE
from grader_daemon.dashboard.refusals import refused
from grader_daemon.domain.text import clean
from grader_daemon.errors import DeliveryError, InputError
from grader_daemon.setting_sources import ENVIRONMENT_PREFIX

if TYPE_CHECKING:
    from grader_daemon.settings import Settings

_ASKED: Final = frozenset(
    {
        *((), ("list",), ("show",), ("why",), ("search", "--similar"), ("report", "week")),
        *(("report", "patterns"), ("report", "usage")),
        *(("report", "errors", "list"), ("report", "errors", "show"), ("report", "errors", "alternatives")),
        *(("alerts", "list"), ("alerts", "show"), ("alerts", "silences"), ("route",)),
    }
)
"""Commands that read grades and change nothing; those without a word are the first screen."""

_SECONDS: Final = 30.0
_MOST_BYTES: Final = 8 * 1024**2
_MOST_MEMORY: Final = 2 * 1024**3
_AT_ONCE: Final = 2
_DATABASE_OPTION: Final = "fleet_read_url"


class Asked(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A command: its words, how many columns the terminal of the member has, and their zone.

    Without columns it is piped.
    """

    words: Annotated[
        tuple[Annotated[str, msgspec.Meta(pattern=r"^[^\x00]{1,2000}$")], ...], msgspec.Meta(max_length=100)
    ]
    columns: Annotated[int, msgspec.Meta(ge=20, le=1000)] | None = None
    colours: bool = False
    zone: Annotated[str, msgspec.Meta(pattern=r"^[A-Za-z][A-Za-z0-9_+/-]{0,63}$")] | None = None


class Said(msgspec.Struct, frozen=True, kw_only=True):
    """Result of a command: its output, its lines on standard error, and its exit code."""

    output: str
    errors: str
    code: int


class Prompt:
    """Runs commands of members over a copy, a few at a time."""

    def __init__(self, settings: Settings, home: Path) -> None:
        """`settings` are those of the copy, `home` is an empty folder."""
        self._settings = settings
        self._home = home
        self._turn: anyio.CapacityLimiter | None = None

    async def answer(self, asked: Asked) -> Said:
        """Run a command.

        Raises:
            InputError: it is not one of those that only read, or has an option that names something of this machine.
            DeliveryError: it took too long, or too much.
        """
        _check(asked.words)
        self._turn = self._turn or anyio.CapacityLimiter(_AT_ONCE)
        return await anyio.to_thread.run_sync(self._run, asked, limiter=self._turn)

    def _run(self, asked: Asked) -> Said:
        zone = asked.zone or self._settings.timezone
        of_ours = ["--db-path", str(self._settings.db_path), *(["--timezone", zone] if zone else [])]
        command = [sys.executable, "-P", "-m", "grader_daemon", *of_ours, *asked.words]
        with (
            tempfile.TemporaryFile() as errors,
            subprocess.Popen(
                command,
                env=self._environment(asked),
                cwd=self._home,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=errors,
            ) as process,
        ):
            output, code = _bounded(process)
            errors.seek(0)
            said = errors.read(_MOST_BYTES)
        return Said(output=output.decode("utf-8", "replace"), errors=said.decode("utf-8", "replace"), code=code)

    def _environment(self, asked: Asked) -> dict[str, str]:
        rules = self._settings.rules_file
        return {
            "PATH": os.environ.get("PATH", os.defpath),
            "LANG": "C.UTF-8",
            "HOME": str(self._home),
            "PYTHONUSERBASE": site.getuserbase(),  # where this program may lie, whatever the home is
            **({f"{ENVIRONMENT_PREFIX}RULES_FILE": str(rules)} if rules else {}),
            **({} if asked.columns is None else {TERMINAL_VARIABLE: "1", "COLUMNS": str(asked.columns)}),
            **({} if asked.colours else {"NO_COLOR": "1"}),
        }


async def prompted(prompt: Prompt, given: bytes) -> Response:
    """Answer a program with what a command says; `given` is the body that it sent."""
    try:
        said = await prompt.answer(msgspec.json.decode(given, type=Asked))
    except (msgspec.MsgspecError, InputError) as error:
        return refused(400, str(error))
    except DeliveryError as error:
        return refused(503, str(error))
    return Response(json_text(said), media_type="application/json")


def _bounded(process: subprocess.Popen[bytes]) -> tuple[bytes, int]:
    """Return what a process writes, and how it ends."""
    if sys.platform == "linux":
        with suppress(OSError):  # a sandbox has bounds of its own
            resource.prlimit(process.pid, resource.RLIMIT_AS, (_MOST_MEMORY, _MOST_MEMORY))
    late = threading.Timer(_SECONDS, process.kill)
    late.start()
    try:
        assert process.stdout is not None
        output = process.stdout.read(_MOST_BYTES + 1)
        if len(output) > _MOST_BYTES:
            process.kill()
        code = process.wait()
    finally:
        late.cancel()
    if code < 0:
        raise DeliveryError(
            f"the fleet server stopped this command: the limits are {_SECONDS:g} s and"
            f" {_MOST_BYTES // 1024**2} MB of output; request less"
        )
    return output, code


def _check(words: tuple[str, ...]) -> None:
    """Refuse what does more than read, by the parser of the command line itself."""
    parsed = list(_parsed(program, list(words)))
    path = tuple(name for name, _ in parsed[1:])
    if path not in _ASKED:
        raise InputError(
            f"`{clean(' '.join(path))}` cannot run at the fleet server, which only reads grades;"
            " it needs your own login at its database (docs/fleet.md)"
        )
    for param in (param for _, given in parsed for param in given):
        if isinstance(param.type, click.Path | click.File) or param.name == _DATABASE_OPTION:
            raise InputError(
                f"{param.opts[0]} names a file or database, which the fleet server does not accept: use > for a file"
            )


def _parsed(command: click.Command, words: list[str], name: str = "") -> Iterator[tuple[str, list[click.Parameter]]]:
    """Yield the name of a command with what it is given, then those below it; values are not looked at."""
    if isinstance(command, GroupWithDefault):
        words = command.named(words)
    if isinstance(command, CommandWithWays) and (asked := command.way_among(words))[0] is not None:
        yield name, []
        yield from _parsed(command.way(asked[0]), asked[1], asked[0])
        return
    context = click.Context(command, **program.context_settings)  # a command keeps the help option of its first context
    try:
        _, rest, given = command.make_parser(context).parse_args(words)
    except click.UsageError as error:
        raise InputError(clean(error.format_message())) from error
    yield name, given
    if isinstance(command, click.Group) and rest:
        below = command.get_command(context, rest[0])
        if below is None:
            raise InputError(f"the fleet server has no command `{clean(rest[0])}`")
        yield from _parsed(below, rest[1:], rest[0])
