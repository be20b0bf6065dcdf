"""Claude Code: the transcripts of its sessions and of their sub-agents, a line for each entry."""
