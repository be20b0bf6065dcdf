"""The memory of the program: what it keeps of sessions, files, people's words and alerts, whatever it keeps them in."""
