-- Lists of sessions that a person named on the page: what the address of each asks for.
CREATE TABLE saved_views (
    name TEXT PRIMARY KEY,
    query TEXT NOT NULL
) WITHOUT ROWID;
