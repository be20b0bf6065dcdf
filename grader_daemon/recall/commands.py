"""``mcp``: what earlier sessions tell an agent, over the Model Context Protocol on standard input and output."""

from __future__ import annotations

import click

from grader_daemon.cli.loading import loading_little
from grader_daemon.cli.options import database_of_flags, settings_options


@click.command("mcp")
@settings_options
@click.option("--grades", "with_grades", is_flag=True, help="Also return the grades of sessions.")
def command(*, with_grades: bool) -> None:
    """Answer agents over MCP: what earlier sessions did, what failed and what helped; see docs/mcp.md.

    Agents start this server and speak the Model Context Protocol with it. The server only reads the database.
    """
    with loading_little():  # `--help` must not wait for it
        from grader_daemon.recall.serving import serve_database

    serve_database(database_of_flags(), with_grades=with_grades)
