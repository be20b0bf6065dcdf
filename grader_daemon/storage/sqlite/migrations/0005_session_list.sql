-- The folder in which the agent worked, as far as its file says so.
ALTER TABLE session_details ADD COLUMN project TEXT;

-- What sessions are listed, filtered and sorted by, in the order in which they are listed: rows so narrow that a look
-- at all of them is cheap, where the grades themselves are twenty times as wide. Like sums, this table and the next two
-- are made from the grades when the database is opened.
CREATE TABLE session_list (
    ended_at TEXT NOT NULL,        -- where that is not known: when it was graded
    session_id TEXT NOT NULL,
    id INTEGER NOT NULL,           -- of session_grades
    state TEXT NOT NULL,
    task_type TEXT NOT NULL,
    model TEXT,
    platform TEXT,
    project TEXT,
    host TEXT,
    verdict_by TEXT NOT NULL,
    completed INTEGER,
    p_completed REAL,
    efficiency INTEGER,
    quality INTEGER,
    errors INTEGER NOT NULL,
    calls INTEGER NOT NULL,
    verified INTEGER NOT NULL,     -- claims that the record shows
    unsupported INTEGER NOT NULL,
    contradicted INTEGER NOT NULL,
    PRIMARY KEY (ended_at, session_id)
) WITHOUT ROWID;

-- What a session has several of: the tools that it used, the categories of its errors.
CREATE TABLE session_facets (
    facet TEXT NOT NULL,           -- tool | error
    value TEXT NOT NULL,
    id INTEGER NOT NULL,           -- of session_grades
    PRIMARY KEY (facet, value, id)
) WITHOUT ROWID;

-- The words of what was asked for; rowid is the id of session_grades.
CREATE VIRTUAL TABLE session_words USING fts5(
    task_summary, content = '', contentless_delete = 1, detail = none, tokenize = 'unicode61'
);
