"""Differences between operating systems and Python versions, behind one interface each.

Nothing else asks for the name of the system to choose a call of it; what a service manager is, `service` knows.
"""
