"""OpenHands: the events of its runs, as an evaluation keeps them, and the verdict on each."""
