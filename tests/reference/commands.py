"""The page of commands: what each is for, how it is called, and its help as it prints it."""

from __future__ import annotations

from collections.abc import Iterator
from types import MappingProxyType

import click

from grader_daemon.cli.all_commands import program
from grader_daemon.cli.groups import CommandWithWays
from tests.reference.blocks import table

_WIDTH = 100
PROGRAM = "grader-daemon"

EXAMPLES = MappingProxyType(
    {
        "run": ("run", "run --once", "run --watch-root ~/.hermes --log-level debug"),
        "grade": (
            "grade",
            "grade --since 7d --jobs 2",
            "grade session_20261121_220804_6c9c9d.json",
            "grade --dry-run --json ~/.timmy/sessions",
            "grade --again",
            "grade --again --all --since 7d --jobs 2",
            "grade --again --diff --rules my-rules.toml",
            "grade --archive ~/old-sessions --jobs 4",
            "grade --archive s3://agents/2025 --jobs 8",
            "grade --demo",
        ),
        "status": ("status", "status --json"),
        "doctor": ("doctor", "doctor --repair"),
        "backup": ("backup create grades.bak", "backup create ~/backups --keep 7", "backup restore grades.bak"),
        "list": (
            "list",
            "list --since 7d --not-completed --sort quality --reverse",
            "list --tool terminal --error permission-denied -o csv",
        ),
        "search": (
            "search alembic upgrade",
            "search '\"disk full\"' --verdict not-done",
            "search wombat --json",
            "search --similar 20261122_000625",
            "search --similar Deploy the release to production",
        ),
        "export": (
            "export --since 2026-11-01",
            "export --format parquet --partition month --out grades",
            "export failed model:opus",
            "export scores otlp",
            "export scores otlp --from-now --follow",
            "export scores langfuse",
            "export scores phoenix",
            "export metrics",
            "export metrics --out /var/lib/prometheus/node-exporter/grader.prom",
        ),
        "show": (
            "show 20261122_000625",
            "show 20261122_000625 --transcript",
            "show 20261122_000625 --around 7",
            "show 20261122_000625 --markdown",
        ),
        "why": ("why 20261122_000625",),
        "label": (
            "label",
            "label -n 10",
            "label 20261122_000625 --completed no --note 'wrong file'",
            "label 20261122_000625 --undo",
            "label --csv labels.csv",
            "label --list",
        ),
        "": ("", "-d 30", "--json"),
        "route": ("route", "route --task-type debugging --max-cost 0.50", "route --out route.json"),
        "changes": (
            "changes",
            "changes --since 2026-11-01 --json",
            "changes trial start deploy",
            "changes trial run deploy -- hermes",
            "changes trial status",
            "changes trial stop deploy",
        ),
        "skills": ("skills", "skills show deploy", "skills suggest debugging", "skills suggest debugging --draft"),
        "report": (
            "report",
            "report --week 2026-W47 --format html --out week.html",
            "report errors",
            "report errors show 1-3f",
            "report errors alternatives terminal permission_denied",
            "report errors resolve 1-3f",
            "report errors ignore 1-3f",
            "report errors reopen 1-3f",
            "report patterns -d 30 --json",
            "report usage -d 30 --by project --all",
            "report outcomes",
            "report outcomes 20261122_000625 --json",
        ),
        "alerts": (
            "alerts",
            "alerts --exit-code",
            "alerts show 3",
            "alerts ack 3 --note 'the mirror was down'",
            "alerts silence 3 --for 12h",
            "alerts test",
        ),
        "calibration": (
            "calibration show",
            "calibration update --dry-run",
            "calibration update",
            "calibration level 70%",
            "calibration train sessions --labels labels.csv --out prior.json",
        ),
        "fleet": (
            "fleet init --url postgresql://admin@db.example.org/grader",
            "fleet add-host laptop --user anna --url postgresql://admin@db.example.org/grader",
            "fleet add-member lead --url postgresql://admin@db.example.org/grader",
            "fleet status",
            "fleet pull",
            "fleet watch",
            "fleet serve",
            "fleet serve install",
            "fleet serve status",
            "fleet add-token anna",
            "fleet remove-token anna",
            "fleet tokens",
            "fleet push",
            "fleet push --follow",
            "fleet install",
            "fleet service-status",
        ),
        "sources": (
            "sources",
            "sources enable claude-code",
            "sources disable codex",
            "sources forget ~/.timmy/sessions/session_broken.json",
        ),
        "dashboard": ("dashboard --open", "dashboard --port 8080"),
        "mcp": ("mcp", "mcp --db-path /srv/grades.db"),
        "hook": (
            "hook install claude-code",
            "hook install codex --mode block",
            "hook status",
            "hook trial start",
            "hook uninstall claude-code",
        ),
        "service": ("service install", "service status", "service logs -f -p warning", "service uninstall"),
        "config": (
            "config show",
            "config get db_path",
            "config path",
            "config check",
            "config set quiet_seconds 3",
            "config unset quiet_seconds",
            "config completion bash",
        ),
    }
)
"""How each command is called, without the name of the program; a test has click read all of them."""


def overview() -> str:
    """Return the table of all commands."""
    ctx = context(program, None, PROGRAM)
    alone = (f"[`{PROGRAM}`](#{_anchor('alone')})", (program.help or "").split("\n\n")[1].replace("\n", " "))
    return table(
        ("command", "is for"),
        [alone, *((f"[`{PROGRAM} {name}`](#{_anchor(name)})", _purpose(command)) for name, command in below(ctx))],
    )


def details() -> str:
    """Return each command with examples and its help, and those of its own commands; first the program alone."""
    ctx = context(program, None, PROGRAM)
    alone = [f"## {PROGRAM} alone", _examples(""), _block("text", ctx.get_help())]
    commands = ([f"## {PROGRAM} {name}", _examples(name), *_helps(command, ctx, name)] for name, command in below(ctx))
    return "\n\n".join("\n\n".join(parts) for parts in (alone, *commands))


def names() -> list[tuple[str, ...]]:
    """Return the names of all commands, and of the commands of groups behind that of the group."""
    return list(_names(context(program, None, PROGRAM)))


def _names(ctx: click.Context) -> Iterator[tuple[str, ...]]:
    for name, command in below(ctx):
        yield (name,)
        yield from ((name, *inner) for inner in _names(context(command, ctx, name)))


def _helps(command: click.Command, parent: click.Context, name: str) -> Iterator[str]:
    ctx = context(command, parent, name)
    yield _block("text", ctx.get_help())
    for inner, its_command in below(ctx):
        yield f"### {ctx.command_path} {inner}"
        yield from _helps(its_command, ctx, inner)


def below(ctx: click.Context) -> Iterator[tuple[str, click.Command]]:
    """Yield the commands of a group, and the ways of a command; none of what has neither."""
    if isinstance(ctx.command, CommandWithWays):
        yield from ((name, ctx.command.way(name)) for name in ctx.command.ways)
    if isinstance(ctx.command, click.Group):
        for name in ctx.command.list_commands(ctx):
            command = ctx.command.get_command(ctx, name)
            assert command is not None
            yield name, command


def context(command: click.Command, parent: click.Context | None, name: str) -> click.Context:
    """Return a command as it is called, whose help is as wide as on the page."""
    if parent is not None and isinstance(parent.command, CommandWithWays):
        name = f"{parent.info_name} {name}"
        parent = parent.parent
    return click.Context(command, parent=parent, info_name=name, terminal_width=_WIDTH, **command.context_settings)


def _purpose(command: click.Command) -> str:
    return (command.help or "").split("\n\n")[0].replace("\n", " ").replace("    ", "").strip()


def _anchor(name: str) -> str:
    return f"{PROGRAM}-{name}"


def _examples(name: str) -> str:
    return _block("sh", "\n".join(f"{PROGRAM} {example}".rstrip() for example in EXAMPLES.get(name, ())))


def _block(language: str, text: str) -> str:
    return f"```{language}\n{text}\n```"
