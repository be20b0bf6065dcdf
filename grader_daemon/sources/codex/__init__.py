"""Codex CLI: one file of lines for each thread, a rollout."""
