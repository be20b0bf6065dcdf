"""`Session` to `Analysis`: what happened, counted and named, without judging it."""

from grader_daemon.analysis.analyzer import Analyzer

__all__ = ["Analyzer"]
