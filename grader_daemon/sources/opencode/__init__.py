"""OpenCode: a database of all sessions; before 1.2 a small file for each session, message and part."""
