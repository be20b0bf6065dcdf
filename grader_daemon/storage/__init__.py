"""The memory of the program, in SQLite: what it keeps of sessions, files, people's words and alerts."""
