"""OpenClaw: a database for each of its agents, with the lines of pi as rows; before that a file for each session."""
