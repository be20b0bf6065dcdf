"""The store in one SQLite file: its tables, the connection and the migrations. The only SQL."""
