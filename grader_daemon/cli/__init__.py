"""The command line: one small module per command, imported when it is called.

Exit codes: 0 fine, 1 findings, 2 wrong usage, configuration or input, 3 daemon not running.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from functools import partial
from typing import Final

from grader_daemon.cli.calling import call
from grader_daemon.cli.loading import loading_little
from grader_daemon.wings import WINGS, imported

_NAME: Final = "grader-daemon"
_COMPLETION: Final = "_GRADER_DAEMON_COMPLETE"
"""By this variable a shell asks what a Tab may mean."""


def main() -> None:
    """Entry point of ``grader-daemon``."""
    plain = _plain(sys.argv[1:])
    if os.environ.get(_COMPLETION):
        from grader_daemon.cli.completion import complete

        complete(os.environ[_COMPLETION])
    elif plain is not None:
        call(partial(_run_plain, plain), _NAME)
    else:
        with loading_little():  # with the parser, which takes 20 ms
            from grader_daemon.cli.all_commands import program
            from grader_daemon.cli.parsing import parsed

        call(partial(parsed, program, _NAME), _NAME)


def _plain(words: Sequence[str]) -> str | None:
    """Return the place of what does a command without options and without a parser; None where there is no such."""
    if len(words) != 1:
        return None
    rows = {wing.name: wing.commands[words[0]] for wing in WINGS if words[0] in wing.commands}
    return next((f"grader_daemon.{wing}.{row.plain}" for wing, row in rows.items() if row.plain), None)


def _run_plain(place: str) -> None:
    with loading_little():
        run = imported(place)
    run()
