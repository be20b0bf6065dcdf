"""Agents' skills and configuration files on disk: their versions, and the results before and after each change."""
