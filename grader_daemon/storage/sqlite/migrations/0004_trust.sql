-- harmful | recovered | probe; only the first two are errors.
ALTER TABLE session_failures ADD COLUMN kind TEXT NOT NULL DEFAULT 'harmful';

-- Rows are longer than a quarter of a page since: WITHOUT ROWID each of them would fill a page of its own beside the tree.
CREATE TABLE long_session_details (
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
    named_after_id INTEGER NOT NULL,
    ended_on TEXT,                 -- the day of ended_at where the person lives
    tools TEXT,                    -- JSON array of [tool, calls, failures]
    loop_told INTEGER NOT NULL DEFAULT 0,           -- its loop risk was logged while it ran
    watched INTEGER NOT NULL DEFAULT 0,             -- the watch on degradation has seen it
    verdict_by TEXT NOT NULL DEFAULT 'rules',       -- rules | model | person
    rules_completed INTEGER,       -- what the rules say, whoever decides
    automatic_completed INTEGER,   -- where a person's word stands: what would stand otherwise
    automatic_by TEXT,             -- rules | model
    automatic_quality INTEGER,
    features TEXT,                 -- JSON array: numbers, and those that are 0 or 1 as bits in Base64
    claims TEXT,                   -- JSON array of {kind, support, subject, index, evidence}
    people TEXT,                   -- JSON array of {kind, index}
    request INTEGER,               -- digest of what was asked for
    asked_again TEXT               -- the session in which it was asked for again
);
INSERT INTO long_session_details (
    session_id, state, state_reason, task_type, format, host, ended_at, messages, tool_calls, had_user_refusal,
    had_user_interruption, digest, rules_version, p_completed, reasons, updated_at, lineage, opening, conversation,
    compacted, named_after_id, ended_on, tools, loop_told, watched
)
SELECT
    session_id, state, state_reason, task_type, format, host, ended_at, messages, tool_calls, had_user_refusal,
    had_user_interruption, digest, rules_version, p_completed, reasons, updated_at, lineage, opening, conversation,
    compacted, named_after_id, ended_on, tools, loop_told, watched
FROM session_details;
DROP TABLE session_details;
ALTER TABLE long_session_details RENAME TO session_details;
CREATE INDEX session_details_ended_at ON session_details (ended_at);
CREATE INDEX session_details_lineage ON session_details (lineage) WHERE lineage IS NOT NULL;
CREATE INDEX session_details_conversation ON session_details (conversation) WHERE conversation IS NOT NULL;
CREATE INDEX session_details_request ON session_details (request, ended_at) WHERE request IS NOT NULL;

-- What people said of grades: rows are added, never changed.
CREATE TABLE feedback (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    session_id TEXT NOT NULL,
    given_at TEXT NOT NULL,
    given_by TEXT NOT NULL,
    completed INTEGER,
    quality INTEGER,
    note TEXT,
    source TEXT NOT NULL,          -- label | csv | review | api
    sampled TEXT,                  -- random | uncertain
    digest TEXT,                   -- of the file that was judged
    completed_before INTEGER NOT NULL,
    quality_before INTEGER NOT NULL,
    verdict_before TEXT NOT NULL,
    p_completed REAL,              -- of the model, then
    withdraws INTEGER              -- id of the row that this one takes back
);
CREATE INDEX feedback_session_id ON feedback (session_id, id);
CREATE TRIGGER feedback_stays BEFORE UPDATE ON feedback BEGIN
    SELECT raise(ABORT, 'feedback is added, never changed');
END;
CREATE TRIGGER feedback_is_kept BEFORE DELETE ON feedback BEGIN
    SELECT raise(ABORT, 'feedback is added, never deleted');
END;

-- What was learned from it.
CREATE TABLE calibrations (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    made_at TEXT NOT NULL,
    adopted INTEGER NOT NULL,      -- its model and its verdict are used from then on
    verdict_by TEXT NOT NULL,      -- rules | model
    policy TEXT NOT NULL,          -- rules | model | auto
    labels INTEGER NOT NULL,
    model TEXT NOT NULL,           -- JSON object
    evidence TEXT NOT NULL         -- JSON object: what was measured, and what changed
);

-- What scorers outside said of the quality of answers: a row for each call, made before it.
CREATE TABLE quality_checks (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    session_id TEXT NOT NULL,
    scorer TEXT NOT NULL,
    checked_at TEXT NOT NULL,
    digest TEXT,                   -- of the file that was judged
    budgeted INTEGER NOT NULL,     -- it counts towards quality_checks_per_day
    outcome TEXT NOT NULL,         -- asked | answered | no_answer | unavailable
    quality REAL,                  -- 1 to 5; none when there was no answer
    ours INTEGER NOT NULL,         -- response_quality as it was graded automatically
    discrepancy REAL,
    error TEXT
);
CREATE INDEX quality_checks_session_id ON quality_checks (session_id, id);
CREATE INDEX quality_checks_checked_at ON quality_checks (checked_at);
