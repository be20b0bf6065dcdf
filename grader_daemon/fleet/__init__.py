"""A team's grades in one PostgreSQL: the process that sends them, and the local copy that each member reads."""
