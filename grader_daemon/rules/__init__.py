"""The rules: the shipped `rules.toml`, overridden by the user's own file."""

from grader_daemon.rules.loader import load_rules

__all__ = ["load_rules"]
