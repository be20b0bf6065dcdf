"""Set-ups of agents: skills and configuration files as they lie on disk, what changed, and whether it mattered."""
