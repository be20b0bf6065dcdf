"""Where sessions lie and how they are read: one room per agent, from its files to a `Session`."""
