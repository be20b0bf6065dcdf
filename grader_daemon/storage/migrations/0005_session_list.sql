-- The folder in which the agent worked, as far as its file says so.
ALTER TABLE session_details ADD COLUMN project TEXT;

-- What sessions are listed, filtered and sorted by, in the order in which they are listed: rows so narrow that a look
-- at all of them is cheap, where the grades themselves are twenty times as wide.
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

INSERT INTO session_list
SELECT
    coalesce(d.ended_at, g.graded_at), g.session_id, g.id, coalesce(d.state, 'complete'),
    coalesce(d.task_type, 'general'), g.model, g.platform, d.project, d.host, coalesce(d.verdict_by, 'rules'),
    g.task_completed, d.p_completed, g.tool_calls_efficient, g.response_quality, g.total_errors,
    coalesce(d.tool_calls, 0),
    (SELECT count(*) FROM json_each(iif(json_valid(d.claims), d.claims, '[]')) WHERE value ->> 'support' = 'verified'),
    (SELECT count(*) FROM json_each(iif(json_valid(d.claims), d.claims, '[]'))
     WHERE value ->> 'support' = 'unsupported'),
    (SELECT count(*) FROM json_each(iif(json_valid(d.claims), d.claims, '[]'))
     WHERE value ->> 'support' = 'contradicted')
FROM session_grades AS g LEFT JOIN session_details AS d ON d.session_id = g.session_id;

INSERT OR IGNORE INTO session_facets
SELECT 'tool', substr(used.value ->> 0, 1, 120), g.id
FROM session_grades AS g
JOIN session_details AS d ON d.session_id = g.session_id
JOIN json_each(iif(json_valid(d.tools), d.tools, '[]')) AS used
WHERE used.value ->> 0 IS NOT NULL;

INSERT OR IGNORE INTO session_facets
SELECT 'error', f.category, g.id
FROM session_grades AS g JOIN session_failures AS f ON f.session_id = g.session_id
WHERE f.kind <> 'probe';

INSERT INTO session_words (rowid, task_summary)
SELECT id, task_summary FROM session_grades WHERE task_summary IS NOT NULL;
