"""A program of the user's own, run once: no shell, an end to its time and output, and to all it started."""

from __future__ import annotations

import os
import selectors
import signal
import subprocess
from collections.abc import Mapping, Sequence
from contextlib import suppress
from time import monotonic
from typing import Final

from grader_daemon.errors import CallError
from grader_daemon.integrations.posting import said_by

_ENDING_SECONDS = 5
_PIECE_BYTES: Final = 65_536
_SECRET_VARIABLES: Final = frozenset(("GRADER_ALERT_WEBHOOK_SECRET", "GRADER_QUALITY_JUDGE_KEY"))


def tell_program(
    arguments: Sequence[str], document: bytes, *, environment: Mapping[str, str], timeout_seconds: float
) -> None:
    """Run a program with a document as its standard input; nobody hears what it says, or waits for what it leaves.

    Raises:
        CallError: it cannot be started, was not done in time, or ended in an error.
    """
    process = _start(arguments, environment, output=subprocess.DEVNULL)
    try:
        process.communicate(document, timeout=timeout_seconds)
    except subprocess.TimeoutExpired as error:
        _end_group(process)
        raise _late(timeout_seconds) from error
    _check_end(process)


def ask_program(
    arguments: Sequence[str],
    document: bytes,
    *,
    environment: Mapping[str, str],
    timeout_seconds: float,
    most_bytes: int,
) -> bytes:
    """Do the same, and return what it wrote on its standard output.

    Raises:
        CallError: see `tell_program`; or it wrote more than `most_bytes`.
    """
    process = _start(arguments, environment, output=subprocess.PIPE)
    assert process.stdout is not None
    deadline = monotonic() + timeout_seconds
    try:
        with process.stdout:
            said = _converse(process, document, deadline=deadline, most_bytes=most_bytes)
        process.wait(max(0.0, deadline - monotonic()))
    except (subprocess.TimeoutExpired, TimeoutError) as error:
        _end_group(process)
        raise _late(timeout_seconds) from error
    except CallError:
        _end_group(process)
        raise
    _check_end(process)
    return said


def environment_without_secrets(more: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return our environment but for the secrets among our own settings, with `more` in it."""
    ours = {name: value for name, value in os.environ.items() if name.upper() not in _SECRET_VARIABLES}
    return {**ours, **(more or {})}


def _start(arguments: Sequence[str], environment: Mapping[str, str], *, output: int) -> subprocess.Popen[bytes]:
    try:
        return subprocess.Popen(
            list(arguments),
            stdin=subprocess.PIPE,
            stdout=output,
            stderr=subprocess.DEVNULL,
            env=dict(environment),
            start_new_session=True,
        )
    except (OSError, ValueError) as error:
        raise CallError(said_by(error)) from error


def _check_end(process: subprocess.Popen[bytes]) -> None:
    if process.returncode:
        raise CallError(f"exit code {process.returncode}")


def _late(timeout_seconds: float) -> CallError:
    return CallError(f"timed out after {timeout_seconds:g} s")


def _converse(process: subprocess.Popen[bytes], document: bytes, *, deadline: float, most_bytes: int) -> bytes:
    """Write and read at once: a program may answer before it has read everything, or not read at all."""
    assert process.stdin is not None
    assert process.stdout is not None
    waiting, said = memoryview(document), bytearray()
    os.set_blocking(process.stdin.fileno(), False)
    with selectors.DefaultSelector() as streams:
        streams.register(process.stdin, selectors.EVENT_WRITE)
        streams.register(process.stdout, selectors.EVENT_READ)
        while streams.get_map():
            ready = streams.select(max(0.0, deadline - monotonic()))
            if not ready and monotonic() >= deadline:
                raise TimeoutError
            for key, _ in ready:
                if key.fileobj is process.stdin:
                    waiting = _write(key.fd, waiting)
                    if not waiting:
                        streams.unregister(process.stdin)
                        process.stdin.close()
                elif not _read(key.fd, said, most_bytes):
                    streams.unregister(process.stdout)
    return bytes(said)


def _write(descriptor: int, waiting: memoryview) -> memoryview:
    """Write a piece; give what is left, nothing if the program has closed its input."""
    try:
        return waiting[os.write(descriptor, waiting[:_PIECE_BYTES]) :]
    except BlockingIOError:
        return waiting
    except BrokenPipeError:
        return waiting[:0]


def _read(descriptor: int, said: bytearray, most_bytes: int) -> bool:
    """Read a piece; False at the end."""
    piece = os.read(descriptor, _PIECE_BYTES)
    said += piece
    if len(said) > most_bytes:
        raise CallError(f"it wrote more than {most_bytes:,} bytes")
    return bool(piece)


def _end_group(process: subprocess.Popen[bytes]) -> None:
    """End the program and all that it started: it leads a group of its own. One that may not be ended is left alone."""
    with suppress(OSError):
        os.killpg(process.pid, signal.SIGKILL)
    if process.stdin is not None:
        with suppress(OSError):
            process.stdin.close()
    with suppress(subprocess.TimeoutExpired):
        process.wait(_ENDING_SECONDS)
