"""What agents ask of earlier sessions, over the Model Context Protocol: a process of its own beside each agent."""
