"""Sources of sessions: one room per agent, from its files to a `Session`."""
