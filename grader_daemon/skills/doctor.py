"""The checks of `doctor` on skills and their trials."""

from __future__ import annotations

from datetime import timedelta
from typing import Final

from grader_daemon.api.doctor.doctor_context import DoctorContext
from grader_daemon.domain.check import Finding, ok, warning
from grader_daemon.domain.text import count
from grader_daemon.skills.places import Installed
from grader_daemon.skills.switched_file import Position, position_of
from grader_daemon.skills.trial_file import TrialFile

_FORGOTTEN: Final = timedelta(days=7)
"""After so long without a draw, a file that is away was probably forgotten."""


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


def trials(context: DoctorContext) -> Finding:
    """Check that no trial has been forgotten while its file is away."""
    running = TrialFile.of_user().running()
    for trial in running:
        idle = context.now - (trial.draws[-1].at if trial.draws else trial.began_at)
        if idle > _FORGOTTEN and position_of(trial.file) is Position.OFF:
            return warning(
                f"the trial of {trial.name} has taken {trial.file.path} away; its last draw was {idle.days} days ago",
                f"grader-daemon changes trial stop {trial.name}",
            )
    return ok(f"{count(len(running), 'trial')} running")
