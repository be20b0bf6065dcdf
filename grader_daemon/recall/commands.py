"""``mcp``: what earlier sessions tell an agent, over the Model Context Protocol on standard input and output."""

from __future__ import annotations

import sys
from io import BytesIO

import click

from grader_daemon.cli import output
from grader_daemon.cli.loading import loading
from grader_daemon.cli.options import database_of_flags, settings_options


@click.command("mcp")
@settings_options
@click.option("--grades", "with_grades", is_flag=True, help="Also return the grades of sessions.")
def command(*, with_grades: bool) -> None:
    """Answer agents over MCP: what earlier sessions did, what failed and what helped; see docs/mcp.md.

    Agents start this server and speak the Model Context Protocol with it. The server only reads the database.
    """
    with loading():  # `--help` must not wait for it
        from grader_daemon.recall.mcp_server import serve
        from grader_daemon.recall.toolbox import Toolbox

    toolbox = Toolbox(database_of_flags(), with_grades=with_grades)
    requests = BytesIO() if sys.stdin is None else sys.stdin.buffer
    if requests.isatty():
        output.warning("this speaks the Model Context Protocol with a program, see docs/mcp.md; Ctrl-C ends it")
    with output.stream() as answers:
        serve(toolbox, requests=requests, answers=answers)
