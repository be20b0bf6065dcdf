"""Systems and versions of Python, where they differ: one face for each thing, with its other side.

Nothing else asks for the name of the system to choose a call of it; what a service manager is, `service` knows.
"""
