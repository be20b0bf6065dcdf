"""The server beside an agent, on standard input and output.

Apart from the command, whose options need a parser: an agent that starts the server without any waits for none.
"""

from __future__ import annotations

import sys
from io import BytesIO
from pathlib import Path

from grader_daemon.cli import output
from grader_daemon.recall.mcp_server import serve
from grader_daemon.recall.toolbox import Toolbox
from grader_daemon.setting_sources import database_path


def serve_usual_database() -> None:
    """Answer from the database of the settings, without grades.

    Raises:
        ConfigurationError: it cannot be known where that is.
    """
    serve_database(database_path(None, config=None), with_grades=False)


def serve_database(database: Path, *, with_grades: bool) -> None:
    """Answer from a database until the input ends."""
    toolbox = Toolbox(database, with_grades=with_grades)
    requests = BytesIO() if sys.stdin is None else sys.stdin.buffer
    if requests.isatty():
        output.warning("this speaks the Model Context Protocol with a program, see docs/mcp.md; Ctrl-C ends it")
    with output.stream() as answers:
        serve(toolbox, requests=requests, answers=answers)
