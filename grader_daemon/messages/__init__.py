"""Full-text search over the messages in sessions. Its index is off by default."""
