"""Model Context Protocol server that answers agents' questions on earlier sessions: one process beside each agent."""
