"""One PostgreSQL for the grades of a team: what sends to it, and the copy of it that each member reads."""
