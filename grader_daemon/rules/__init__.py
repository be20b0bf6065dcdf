"""The rules: the shipped `rules.toml`, overlaid by a user's own file."""

from grader_daemon.rules.loader import load_rules

__all__ = ["load_rules"]
