"""pi, and programs that write its lines: a tree of entries, each appended to the file of its session."""
