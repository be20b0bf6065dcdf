"""Skills and configuration files of agents, as they lie on disk: read, never run, and links are not followed."""
