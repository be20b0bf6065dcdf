"""Scorers of quality outside of this program, which say whether its grades are right. None is asked unless it is set.

What the two that come with it hand over is redacted by them, whoever calls them (`redacted_transcript`).
"""
