"""Settings that a process which ends has read and checked: what that takes stays in no daemon's memory."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final, cast

from grader_daemon.errors import ConfigurationError
from grader_daemon.kept_settings import checked_settings, is_library_loaded
from grader_daemon.plain_settings import PlainSettings, plain

if TYPE_CHECKING:
    from grader_daemon.settings import Settings

_Answer = PlainSettings | ConfigurationError
_ASKED: Final = f"from {__name__} import answer; answer()"


def read_apart(flags: Mapping[str, Any]) -> Settings:
    """Read the settings as `load_settings` does, in a process that ends, unless they are kept from before.

    It reads them in this process if their library is loaded, or if no other process can be started or does not answer.

    Raises:
        ConfigurationError: one is wrong.
    """
    return _known(flags, _asked)


def read_here(flags: Mapping[str, Any]) -> Settings:
    """Read the same in this process, in half the time: for one that ends soon.

    Raises:
        ConfigurationError: one is wrong.
    """
    return _known(flags, _read)


def answer() -> None:
    """Read the settings under the flags on standard input, and write on standard output what became of them.

    It ends without a word if the process that asks is dead.
    """
    try:
        answered = _read(pickle.load(sys.stdin.buffer))  # noqa: S301  of who started this
        sys.stdout.buffer.write(pickle.dumps(answered))
        sys.stdout.buffer.flush()
    except (EOFError, BrokenPipeError):
        os._exit(1)  # at a usual exit, Python would try to write once more, and complain


def _known(flags: Mapping[str, Any], read: Callable[[Mapping[str, Any]], _Answer]) -> Settings:
    if is_library_loaded():
        return cast("Settings", _settled(_read(flags)))
    return cast("Settings", checked_settings(flags, lambda given: _settled(read(given))))


def _settled(answered: _Answer) -> PlainSettings:
    if isinstance(answered, ConfigurationError):
        raise answered
    return answered


def _asked(flags: Mapping[str, Any]) -> _Answer:
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
    answered: _Answer = pickle.loads(process.stdout)  # noqa: S301  of a process of ours
    return answered


def _read(flags: Mapping[str, Any]) -> _Answer:
    from grader_daemon.settings import load_settings

    try:
        return plain(load_settings(**flags))
    except ConfigurationError as error:
        return error
