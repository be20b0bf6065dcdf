"""Running a command to the end of its process: one line for whatever goes wrong, never a traceback."""

from __future__ import annotations

import atexit
import gc
import os
import sys
from collections.abc import Callable
from typing import NoReturn

from grader_daemon.cli import output
from grader_daemon.errors import ConfigurationError, GraderError, NoDatabaseError
from grader_daemon.setting_sources import TRACEBACK_VARIABLE


def call(run: Callable[[], object], name: str) -> NoReturn:
    """Run a command and end the process with the number that it returns, 0 if it returns none."""
    prepare()
    os.umask(os.umask(0o077) & 0o077)  # one that takes from the owner too leaves files that we cannot open again
    try:
        _refuse_names_that_cannot_be_read()
        code = run()
        output.flush()
    except GraderError as error:
        hint = "; start: grader-daemon run" if isinstance(error, NoDatabaseError) else ""
        output.error(f"{name}: {error}{hint}")
        code = 2
    except KeyboardInterrupt:
        code = 130
    except SystemExit:  # nobody reads the output any more
        output.abandon()
        code = 0
    except OSError as error:
        output.abandon()
        output.error(f"{name}: {_system_words(error)}")
        code = 2
    except Exception as error:  # noqa: BLE001  whatever it is, a person is told in one line
        _tell_unexpected(name, error)
        code = 2
    sys.exit(code if isinstance(code, int) else 0)


def prepare() -> None:
    """Make the standard streams fit for anything, and the end of the process short."""
    output.prepare()
    atexit.register(gc.freeze)  # an ending process would look for rubbish in all it loaded: a fifth of a short command


def _system_words(error: OSError) -> str:
    """Return what the system refused, and of which file; it names none if the folder that one is in was deleted."""
    if error.filename is not None:
        return f"{error.filename}: {error.strerror or error}"
    try:
        os.getcwd()
    except FileNotFoundError:
        return "the current folder was deleted; change to another folder"
    return error.strerror or str(error)


def _tell_unexpected(name: str, error: Exception) -> None:
    """Print one line on what nobody thought of; where it comes from is for the journal, and for who asks."""
    from grader_daemon.system.open_files import is_journal

    if os.environ.get(TRACEBACK_VARIABLE) or is_journal(sys.stderr):
        import traceback

        traceback.print_exception(error)
    said = " ".join(str(error).split())
    kind = type(error).__name__
    output.error(
        f"{name}: a bug in grader-daemon: {f'{kind}: {said}' if said else kind}; {TRACEBACK_VARIABLE}=1 before the"
        " command shows where; please report it"
    )


def _refuse_names_that_cannot_be_read() -> None:
    """Refuse to begin where Python was told to take file names for something else than UTF-8: by ``PYTHONUTF8=0``.

    Raises:
        ConfigurationError: it was.
    """
    encoding = sys.getfilesystemencoding()
    if encoding != "utf-8":
        raise ConfigurationError(
            f"Python reads file names as {encoding} and could not open some files; set PYTHONUTF8=1 or LC_ALL=C.UTF-8"
        )
