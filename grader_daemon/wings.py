"""Optional features, one folder each, above the core. A table names what each provides; imports happen on first use.

The core imports no wing, and no wing another. What a wing is asked for stands here, in one table.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from enum import StrEnum
from functools import partial
from importlib import import_module
from typing import Any, Final, NamedTuple


class Section(StrEnum):
    """Sections of `grader-daemon --help`, in their order."""

    EVERY_DAY = "Every day"
    SET_UP = "Set up"
    LEARN = "Learn"
    FOR_PROGRAMS = "For programs"
    OPERATE = "Operate"


class CommandRow(NamedTuple):
    """A command: the place of its function, its line of help, and its section; None below another command.

    `plain` is the place of what does the same without options: it is called in place of the function where the command
    has none, without the parser, which takes longer than a program waits.
    """

    where: str
    help_line: str
    section: Section | None = None
    plain: str | None = None


class Wing(NamedTuple):
    """A folder of the package and what it gives, each as ``module:name`` below the folder.

    Each of `jobs` is called with the settings, the store and `is_settled` (true while nothing waits to be graded), and
    returns the periodic jobs of the daemon, none where the settings ask for none; each of `own_jobs`, for jobs that may
    wait for others, is called with the settings, and yields a name, a store of their own and these jobs; each of
    `listeners` is called with the settings, and yields threads that answer other programs, as `daemon.listening` has
    them. `units` are services beside the daemon, each a value by the name in `service.UNITS`. `checks` are those of
    `doctor`, by their names, and come behind those of the core, unless it gives them a place. Jobs and checks come in
    the order of the wings. `lines` are called with the store and a grade, and yield what is told of a session beside
    its grade, each with what it is about. `parts` are what the core asks for by name, as `api.parts` has them.
    """

    name: str
    commands: Mapping[str, CommandRow] = {}
    jobs: tuple[str, ...] = ()
    own_jobs: tuple[str, ...] = ()
    listeners: tuple[str, ...] = ()
    units: Mapping[str, str] = {}
    checks: Mapping[str, str] = {}
    lines: tuple[str, ...] = ()
    parts: Mapping[str, str] = {}


WINGS: Final = (
    Wing(
        "archive",
        commands={
            "grade --archive": CommandRow("commands:command", "Grade an archive of old sessions, local or remote.")
        },
    ),
    Wing(
        "dashboard",
        commands={
            "dashboard": CommandRow(
                "commands:command",
                "Open the dashboard in a browser: all of this, live.",
                Section.EVERY_DAY,
            ),
            "fleet serve": CommandRow("fleet_commands:serve", "Serve a fleet's page and API to its members."),
            "fleet add-token": CommandRow("fleet_commands:add_token", "Give a member a token."),
            "fleet remove-token": CommandRow("fleet_commands:remove_token", "Revoke a member's token."),
            "fleet tokens": CommandRow("fleet_commands:tokens", "List the members with a token."),
        },
        units={"page": "systemd_unit:PAGE"},
    ),
    Wing(
        "recall",
        commands={
            "mcp": CommandRow(
                "commands:command",
                "Tell agents over MCP what helped in earlier sessions.",
                Section.FOR_PROGRAMS,
                plain="serving:serve_usual_database",
            )
        },
    ),
    Wing(
        "messages",
        commands={
            "search": CommandRow(
                "commands:command",
                "Find words in messages, or sessions with the same task.",
                Section.EVERY_DAY,
            )
        },
        jobs=("job:message_jobs",),
        parts={"messages": "found:Messages"},
    ),
    Wing(
        "skills",
        commands={
            "changes": CommandRow(
                "commands:changes",
                "Show changes in agents' set-up, and measure one in a trial.",
                Section.LEARN,
            ),
            "skills": CommandRow(
                "commands:command", "Show skills, their use, and which one could help.", Section.LEARN
            ),
            "changes trial": CommandRow(
                "trial_commands:command", "Measure the effect of a skill or a prompt file on a random half."
            ),
        },
        jobs=("versions_job:versions_jobs",),
        checks={"skills": "doctor:skills", "trials": "doctor:trials"},
        parts={
            "setup": "agent_setup:Setup",
            "changes": "read_changes:changes_between",
            "effects": "read_changes:setup_changes",
            "installed": "places:Installed",
            "skill_advice": "agent_setup:skill_advice",
        },
    ),
    Wing(
        "routing",
        commands={
            "route": CommandRow("commands:command", "Show which model to prefer for each task type.", Section.LEARN)
        },
        jobs=("job:route_jobs",),
        parts={"routing": "advice:Advice"},
    ),
    Wing(
        "outcomes",
        commands={
            "report outcomes": CommandRow("commands:command", "Show what became of sessions' work, in git and on disk.")
        },
        jobs=("job:outcome_jobs",),
        checks={"outcomes": "doctor:outcomes"},
        lines=("words:lines_of",),
        parts={"outcomes": "store:work_outcomes"},
    ),
    Wing(
        "hook",
        commands={
            "hook": CommandRow(
                "commands:command", "Check an agent's claims against the record before it stops.", Section.SET_UP
            )
        },
        listeners=("listener:listeners",),
        checks={"hooks": "doctor:hooks"},
    ),
    Wing(
        "scorers",
        own_jobs=("make:own_jobs",),
        checks={"quality scorer": "doctor:scorer"},
        parts={"scorers": "make:Scorers"},
    ),
    Wing(
        "fleet",
        commands={
            "fleet": CommandRow(
                "commands:command", "Share one PostgreSQL between many machines.", Section.FOR_PROGRAMS
            ),
            "fleet push": CommandRow("push_command:command", "Send grades to your team's PostgreSQL."),
        },
        units={"pusher": "systemd_unit:PUSHER", "server": "systemd_unit:SERVER"},
        checks={"fleet": "doctor:pusher", "fleet watch": "doctor:watched"},
        parts={"copies": "copies:Copies"},
    ),
    Wing(
        "push",
        commands={
            "export": CommandRow(
                "commands:command",
                "Write tables of grades, send scores elsewhere, print metrics.",
                Section.FOR_PROGRAMS,
            ),
            "export metrics": CommandRow("metrics_command:command", "Print metrics for Prometheus."),
        },
        jobs=("metrics_job:metrics_jobs",),
        parts={"metrics": "metrics:preferred_text"},
    ),
)


def imported(place: str) -> Any:
    """Import what is named as ``package.module:name``."""
    module, _, name = place.partition(":")
    return getattr(import_module(module), name)


def given(wing: str, what: str) -> Any:
    """Import what a wing gives, as ``module:name``."""
    return imported(f"grader_daemon.{wing}.{what}")


def given_by_all(what: str) -> Iterator[Any]:
    """Import what all wings give of a kind that is a tuple, as `jobs`."""
    for wing in WINGS:
        yield from (given(wing.name, each) for each in getattr(wing, what))


def part(name: str) -> Any:
    """Import what the core asks for by this name; see `api.parts`."""
    return next(given(wing.name, wing.parts[name]) for wing in WINGS if name in wing.parts)


def units() -> dict[str, str]:
    """Return the places of units that wings give, by their names."""
    return {name: f"grader_daemon.{wing.name}.{where}" for wing in WINGS for name, where in wing.units.items()}


def checks() -> dict[str, Callable[[Any], Any]]:
    """Return the checks of `doctor` that wings give, by their names; each is imported when it is made."""
    return {name: partial(_made, wing.name, where) for wing in WINGS for name, where in wing.checks.items()}


def _made(wing: str, check: str, context: Any) -> Any:
    return given(wing, check)(context)


def rows_below(group: str) -> dict[str, CommandRow]:
    """Return the commands of wings below a command of another, by their names there, with their whole place."""
    found: dict[str, CommandRow] = {}
    for wing in WINGS:
        for name, row in wing.commands.items():
            above, _, below = name.rpartition(" ")
            if above == group:
                found[below] = row._replace(where=f"grader_daemon.{wing.name}.{row.where}")
    return found
