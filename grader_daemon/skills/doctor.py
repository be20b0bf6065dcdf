"""The check of `doctor` on skills."""

from __future__ import annotations

from grader_daemon.api.doctor.context import DoctorContext
from grader_daemon.domain.check import Finding, ok, warning
from grader_daemon.reports.numbers import count
from grader_daemon.skills.places import Installed


def skills(context: DoctorContext) -> Finding:
    """Check that the folders that skills are looked for in can be read."""
    installed = Installed.of(context.settings)
    for folder, why in installed.unreadable().items():
        fix = "create it, make it readable, or remove it from skill_roots"
        return warning(f"{folder}: no skills can be read there: {why}", fix)
    found = installed.skills()
    unsound = sum(skill.problem is not None for skill in found)
    told = f", {unsound:,} of them with problems: grader-daemon skills" if unsound else ""
    return ok(f"{count(len(found), 'skill')}{told}")
