"""`Analysis` to scores: verdicts by rule, each with its reasons."""

from grader_daemon.grading.catalog import CATALOG
from grader_daemon.grading.grader import Grader

__all__ = ["CATALOG", "Grader"]
