"""The doctor: checks of the machine and the set-up, each with its fix, and the repairs that need no judgement.

A check is a function of a `DoctorContext`. What it did not foresee (a folder that may not be read, a database that is
locked) comes out as `unknown` with the reason, never as an exception.
"""

from grader_daemon.api.doctor.all_checks import CHECKS, examine, examine_each
from grader_daemon.api.doctor.repairs import Repair, repair

__all__ = ["CHECKS", "Repair", "examine", "examine_each", "repair"]
