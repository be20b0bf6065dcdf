"""A team's PostgreSQL, where the grades of many machines are: what makes it, what sends to it.

It is no `Store`: the truth of each machine stays in its own database.
"""
