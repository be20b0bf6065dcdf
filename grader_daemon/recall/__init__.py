"""Model Context Protocol server for agents' questions on earlier sessions: a process of its own beside each agent."""
