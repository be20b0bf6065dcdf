"""GitHub Copilot CLI: the events of a session, one a line, those of its sub-agents among them."""
