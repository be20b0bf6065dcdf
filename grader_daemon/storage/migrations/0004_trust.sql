-- harmful | recovered | probe; only the first two are errors.
ALTER TABLE session_failures ADD COLUMN kind TEXT NOT NULL DEFAULT 'harmful';

ALTER TABLE session_details ADD COLUMN verdict_by TEXT NOT NULL DEFAULT 'rules';  -- rules | model | person
ALTER TABLE session_details ADD COLUMN rules_completed INTEGER;      -- what the rules say, whoever decides
ALTER TABLE session_details ADD COLUMN automatic_completed INTEGER;  -- where a person's word stands: what would stand otherwise
ALTER TABLE session_details ADD COLUMN automatic_by TEXT;            -- rules | model
ALTER TABLE session_details ADD COLUMN automatic_quality INTEGER;
ALTER TABLE session_details ADD COLUMN features TEXT;                -- JSON array: numbers, and those that are 0 or 1 as bits in Base64
ALTER TABLE session_details ADD COLUMN claims TEXT;                  -- JSON array of {kind, support, subject, index, evidence}
ALTER TABLE session_details ADD COLUMN people TEXT;                  -- JSON array of {kind, index}
ALTER TABLE session_details ADD COLUMN request INTEGER;              -- digest of what was asked for
ALTER TABLE session_details ADD COLUMN asked_again TEXT;             -- the session in which it was asked for again
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
