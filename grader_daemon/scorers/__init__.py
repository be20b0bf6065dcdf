"""External quality scorers, which check the program's grades. None is called unless you configure it.

What the two that come with it hand over is redacted by them, whoever calls them (`redacted_transcript`).
"""
