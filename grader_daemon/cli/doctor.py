"""``doctor``: checks of the machine and the set-up, each with its fix."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import click
import msgspec

from grader_daemon import bootstrap
from grader_daemon.api.doctor import Repair, examine, repair
from grader_daemon.cli import output
from grader_daemon.cli.options import json_option, quietly_read_settings, settings_options
from grader_daemon.domain.check import Check, CheckState
from grader_daemon.domain.text import clean

_FINDINGS = 1


@click.command("doctor")
@settings_options
@click.option("--repair", "repairs_wanted", is_flag=True, help="Repair what is safe to repair, and report it.")
@click.option(
    "--full",
    is_flag=True,
    help="Check a database above 100 MB fully, not only a sample; takes 35 s for a million sessions.",
)
@json_option
def command(*, repairs_wanted: bool, full: bool, as_json: bool) -> int:
    """Check the machine and the set-up. Exit code 1 for problems, not for warnings."""
    repairs = repair(quietly_read_settings, clock=bootstrap.utc_now) if repairs_wanted else []
    checks = examine(quietly_read_settings, clock=bootstrap.utc_now, full=full or repairs_wanted)
    if as_json:
        done = {"repairs": msgspec.to_builtins(repairs)} if repairs_wanted else {}
        output.document({**done, "checks": checks})
    else:
        if repairs_wanted:
            _tell(repairs)
        output.checks(checks)
        output.line(_total(checks))
    return _FINDINGS if any(check.state is CheckState.PROBLEM for check in checks) else 0


def _tell(repairs: Sequence[Repair]) -> None:
    for each in repairs:
        output.line(clean(f"{'Done' if each.done else 'Not done'}: {each.what}"))
    if not repairs:
        output.line("Nothing can be repaired automatically.")
    output.line()


def _total(checks: Sequence[Check]) -> str:
    """Count the checks by state."""
    counts = Counter(check.state for check in checks)
    plural = {CheckState.WARNING: "warnings", CheckState.PROBLEM: "problems"}
    said = [
        f"{counts[state]} {state if counts[state] == 1 else plural.get(state, state)}"
        for state in CheckState
        if counts[state]
    ]
    return f"{len(checks)} checks: {', '.join(said)}."
