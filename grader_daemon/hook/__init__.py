"""Check of an agent's answer against the record at the moment it wants to stop, reported to the person or the agent."""
