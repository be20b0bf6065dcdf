"""The pages: each a module that reads what its template shows."""
