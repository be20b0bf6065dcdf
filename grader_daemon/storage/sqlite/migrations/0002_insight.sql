ALTER TABLE session_details ADD COLUMN ended_on TEXT;    -- the day of ended_at where the person lives
ALTER TABLE session_details ADD COLUMN tools TEXT;       -- JSON array of [tool, calls, failures]
ALTER TABLE session_details ADD COLUMN loop_told INTEGER NOT NULL DEFAULT 0;  -- its loop risk was logged while it ran
ALTER TABLE session_details ADD COLUMN watched INTEGER NOT NULL DEFAULT 0;    -- the watch on degradation has seen it
UPDATE session_details SET ended_on = substr(ended_at, 1, 10);

ALTER TABLE session_failures ADD COLUMN command TEXT;       -- family of the shell command
ALTER TABLE session_failures ADD COLUMN ended_at TEXT;      -- of the session, when it is finished
ALTER TABLE session_failures ADD COLUMN next_tool TEXT;     -- what the agent tried next
ALTER TABLE session_failures ADD COLUMN next_command TEXT;
ALTER TABLE session_failures ADD COLUMN next_worked INTEGER;
CREATE INDEX session_failures_fingerprint ON session_failures (fingerprint, ended_at)
    WHERE fingerprint IS NOT NULL AND ended_at IS NOT NULL;

DROP INDEX session_files_state;
CREATE INDEX session_files_state ON session_files (state, mtime_ns) WHERE state <> 'graded';

-- Sums over finished sessions by group, of a day and of a month; see domain/rollup.py. They always equal what the rows
-- give.
CREATE TABLE daily_rollups (
    dimension TEXT NOT NULL,
    day TEXT NOT NULL,
    name TEXT NOT NULL,
    sessions INTEGER NOT NULL,
    open_sessions INTEGER NOT NULL,
    completed INTEGER NOT NULL,
    with_errors INTEGER NOT NULL,
    recovered INTEGER NOT NULL,
    efficiency INTEGER NOT NULL,
    efficiency_squares INTEGER NOT NULL,
    quality INTEGER NOT NULL,
    quality_squares INTEGER NOT NULL,
    score_squares INTEGER NOT NULL,
    calls INTEGER NOT NULL,
    calls_squares INTEGER NOT NULL,
    failures INTEGER NOT NULL,
    failures_squares INTEGER NOT NULL,
    calls_failures INTEGER NOT NULL,
    PRIMARY KEY (dimension, day, name)
) WITHOUT ROWID;
CREATE TABLE monthly_rollups (
    dimension TEXT NOT NULL,
    month TEXT NOT NULL,
    name TEXT NOT NULL,
    sessions INTEGER NOT NULL,
    open_sessions INTEGER NOT NULL,
    completed INTEGER NOT NULL,
    with_errors INTEGER NOT NULL,
    recovered INTEGER NOT NULL,
    efficiency INTEGER NOT NULL,
    efficiency_squares INTEGER NOT NULL,
    quality INTEGER NOT NULL,
    quality_squares INTEGER NOT NULL,
    score_squares INTEGER NOT NULL,
    calls INTEGER NOT NULL,
    calls_squares INTEGER NOT NULL,
    failures INTEGER NOT NULL,
    failures_squares INTEGER NOT NULL,
    calls_failures INTEGER NOT NULL,
    PRIMARY KEY (dimension, month, name)
) WITHOUT ROWID;

-- What was tried next after failures of a tool; is_retry: the same tool and command again.
CREATE TABLE daily_steps (
    day TEXT NOT NULL,
    tool TEXT NOT NULL,
    next_tool TEXT NOT NULL,
    next_command TEXT NOT NULL,
    is_retry INTEGER NOT NULL,
    tries INTEGER NOT NULL,
    worked INTEGER NOT NULL,
    completed INTEGER NOT NULL,
    PRIMARY KEY (day, tool, next_tool, next_command, is_retry)
) WITHOUT ROWID;
CREATE TABLE monthly_steps (
    month TEXT NOT NULL,
    tool TEXT NOT NULL,
    next_tool TEXT NOT NULL,
    next_command TEXT NOT NULL,
    is_retry INTEGER NOT NULL,
    tries INTEGER NOT NULL,
    worked INTEGER NOT NULL,
    completed INTEGER NOT NULL,
    PRIMARY KEY (month, tool, next_tool, next_command, is_retry)
) WITHOUT ROWID;

-- How often something changed on a day: a report that was made of other revisions is out of date.
CREATE TABLE rollup_days (day TEXT PRIMARY KEY NOT NULL, revision INTEGER NOT NULL) WITHOUT ROWID;

-- Failures of one cause, and what people said of it.
CREATE TABLE error_issues (
    fingerprint TEXT PRIMARY KEY NOT NULL,
    tool TEXT,
    command TEXT,
    category TEXT NOT NULL,
    signal TEXT NOT NULL,
    example TEXT NOT NULL,
    resolved_at TEXT,
    ignored_at TEXT
) WITHOUT ROWID;
CREATE TABLE issue_days (
    fingerprint TEXT NOT NULL,
    day TEXT NOT NULL,
    failures INTEGER NOT NULL,
    sessions INTEGER NOT NULL,
    recovered INTEGER NOT NULL,
    PRIMARY KEY (fingerprint, day)
) WITHOUT ROWID;
CREATE INDEX issue_days_day ON issue_days (day);
CREATE TABLE issue_steps (
    fingerprint TEXT NOT NULL,
    day TEXT NOT NULL,
    tool TEXT NOT NULL,
    command TEXT NOT NULL,
    tries INTEGER NOT NULL,
    worked INTEGER NOT NULL,
    completed INTEGER NOT NULL,
    PRIMARY KEY (fingerprint, day, tool, command)
) WITHOUT ROWID;
CREATE TABLE issue_tasks (
    fingerprint TEXT NOT NULL,
    day TEXT NOT NULL,
    task_type TEXT NOT NULL,
    sessions INTEGER NOT NULL,
    PRIMARY KEY (fingerprint, day, task_type)
) WITHOUT ROWID;

-- What each weekly report was made of: the sum of the revisions of its days.
CREATE TABLE report_bases (week_start TEXT PRIMARY KEY NOT NULL, basis INTEGER NOT NULL) WITHOUT ROWID;

CREATE TABLE job_runs (
    id INTEGER PRIMARY KEY,
    job TEXT NOT NULL,
    started_at TEXT NOT NULL,
    finished_at TEXT NOT NULL,
    outcome TEXT NOT NULL,         -- done | failed
    error TEXT
);
CREATE INDEX job_runs_job ON job_runs (job, id);

CREATE TABLE alerts (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    kind TEXT NOT NULL,            -- degradation | threshold
    level TEXT NOT NULL,           -- warning | critical
    rule TEXT,                     -- name of the threshold
    drops TEXT NOT NULL,           -- JSON array: the streams that it shows in, with their numbers
    sessions TEXT NOT NULL,        -- JSON array of session ids: those that weigh most
    changes TEXT NOT NULL,         -- JSON array: what else changed then
    decomposition TEXT,            -- JSON object: the mix of work, or the same work
    opened_at TEXT NOT NULL,
    began_at TEXT NOT NULL,        -- when it is thought to have begun
    resolved_at TEXT,
    acknowledged_at TEXT,
    note TEXT,
    told INTEGER NOT NULL
);
CREATE INDEX alerts_open ON alerts (opened_at) WHERE resolved_at IS NULL;
CREATE INDEX alerts_opened_at ON alerts (opened_at);

-- The watch on degradation: a detector for each stream, and how far it has read.
CREATE TABLE alert_streams (
    metric TEXT NOT NULL,
    dimension TEXT NOT NULL,
    name TEXT NOT NULL,
    state TEXT NOT NULL,
    PRIMARY KEY (metric, dimension, name)
) WITHOUT ROWID;
CREATE TABLE alert_position (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    ended_at TEXT NOT NULL,
    session_id TEXT NOT NULL
);
CREATE TABLE alert_silences (
    metric TEXT NOT NULL,
    dimension TEXT NOT NULL,
    name TEXT NOT NULL,
    until TEXT NOT NULL,
    PRIMARY KEY (metric, dimension, name)
) WITHOUT ROWID;

-- What is to be told to receivers outside; a row goes out at least once.
CREATE TABLE alert_outbox (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    alert INTEGER NOT NULL,
    event TEXT NOT NULL,           -- opened | resolved
    channel TEXT NOT NULL,         -- webhook | command
    payload TEXT NOT NULL,
    created_at TEXT NOT NULL,
    attempts INTEGER NOT NULL,
    next_at TEXT NOT NULL,
    delivered_at TEXT,
    last_error TEXT
);
CREATE INDEX alert_outbox_waiting ON alert_outbox (channel, id) WHERE delivered_at IS NULL;
