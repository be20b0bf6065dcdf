"""Search over what was written in sessions: an index of words, off unless it is asked for."""
