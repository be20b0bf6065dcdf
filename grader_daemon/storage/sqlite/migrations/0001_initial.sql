CREATE TABLE IF NOT EXISTS session_grades (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    session_id TEXT UNIQUE NOT NULL,
    session_file TEXT NOT NULL,
    graded_at TEXT NOT NULL,
    -- Core metrics
    task_completed INTEGER NOT NULL,
    tool_calls_efficient INTEGER NOT NULL,
    response_quality INTEGER NOT NULL,
    errors_recovered INTEGER NOT NULL,
    total_api_calls INTEGER NOT NULL,
    -- Metadata
    model TEXT,
    platform TEXT,
    session_start TEXT,
    duration_seconds REAL,
    task_summary TEXT,
    -- Error analysis
    total_errors INTEGER NOT NULL,
    error_types TEXT,  -- JSON array
    tools_with_errors TEXT,  -- JSON array
    -- Pattern flags
    had_repeated_errors INTEGER NOT NULL,
    had_infinite_loop_risk INTEGER NOT NULL,
    had_user_clarification INTEGER NOT NULL
);

CREATE TABLE IF NOT EXISTS weekly_reports (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    week_start TEXT UNIQUE NOT NULL,
    week_end TEXT NOT NULL,
    generated_at TEXT NOT NULL,
    report_json TEXT NOT NULL  -- Serialized WeeklyReport
);

-- What else is known of a graded session; a row of the original two-table database may have none.
CREATE TABLE session_details (
    session_id TEXT PRIMARY KEY NOT NULL,
    state TEXT NOT NULL,           -- complete | interrupted | open
    state_reason TEXT NOT NULL,
    task_type TEXT NOT NULL,
    format TEXT NOT NULL,
    host TEXT NOT NULL,
    ended_at TEXT,                 -- the session's last update, else the file's modification time
    messages INTEGER NOT NULL,
    tool_calls INTEGER NOT NULL,
    had_user_refusal INTEGER NOT NULL,
    had_user_interruption INTEGER NOT NULL,
    digest TEXT NOT NULL,          -- XXH3-128 of the file
    rules_version TEXT NOT NULL,
    p_completed REAL,
    reasons TEXT NOT NULL,         -- JSON array of {score, rule, effect, messages}
    updated_at TEXT,
    lineage INTEGER,               -- start in microseconds; shared by the links of a compression chain
    opening INTEGER,               -- digest of the first message; shared by them too
    conversation INTEGER,          -- shared by copies of one conversation
    compacted INTEGER NOT NULL,
    named_after_id INTEGER NOT NULL
) WITHOUT ROWID;
CREATE INDEX session_details_ended_at ON session_details (ended_at);
CREATE INDEX session_details_lineage ON session_details (lineage) WHERE lineage IS NOT NULL;
CREATE INDEX session_details_conversation ON session_details (conversation) WHERE conversation IS NOT NULL;

CREATE TABLE session_failures (
    session_id TEXT NOT NULL,
    message_index INTEGER NOT NULL,
    tool TEXT,
    category TEXT NOT NULL,
    fingerprint TEXT,
    PRIMARY KEY (session_id, message_index)
) WITHOUT ROWID;

-- The ledger: what became of every file.
CREATE TABLE session_files (
    path TEXT UNIQUE NOT NULL,
    device INTEGER NOT NULL,
    inode INTEGER NOT NULL,
    size INTEGER NOT NULL,
    mtime_ns INTEGER NOT NULL,
    digest TEXT,
    session_id TEXT,
    state TEXT NOT NULL,           -- graded | skipped | retry | dead
    reason TEXT,                   -- why it was skipped
    attempts INTEGER NOT NULL,     -- failed ones since the content last changed
    retry_at TEXT,                 -- when to look again though nothing changed
    last_error TEXT,
    rules_version TEXT,
    grades INTEGER NOT NULL,       -- how often it was graded
    seen_at TEXT NOT NULL
);
CREATE INDEX session_files_session_id ON session_files (session_id) WHERE session_id IS NOT NULL;
CREATE INDEX session_files_retry_at ON session_files (retry_at) WHERE retry_at IS NOT NULL;
CREATE INDEX session_files_state ON session_files (state) WHERE state <> 'graded';

-- What the running daemon says of itself; one row.
CREATE TABLE daemon_status (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    pid INTEGER NOT NULL,
    started_at TEXT NOT NULL,
    said_at TEXT NOT NULL,
    backlog INTEGER NOT NULL,
    watching TEXT NOT NULL         -- JSON object: root to watch state
);
