"""Exchange with other programs: HTTP requests, alert receivers, files, child processes, facts about the machine."""
