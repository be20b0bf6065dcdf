"""Later fate of a session's work, from git and files on this machine. Files are read, never run."""
