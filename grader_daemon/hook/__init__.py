"""Check of an agent's answer when it wants to stop; contradictions are reported to the person or the agent."""
