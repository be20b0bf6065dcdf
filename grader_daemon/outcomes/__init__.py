"""Fate of the work of sessions, by git and by the files on this machine: read, never run."""
