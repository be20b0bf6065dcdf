"""`Session` to `Analysis`: counts and names what happened, without judging it."""

from grader_daemon.analysis.analyzer import Analyzer

__all__ = ["Analyzer"]
