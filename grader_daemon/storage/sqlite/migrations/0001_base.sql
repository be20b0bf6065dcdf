-- The schema of the first release. A change of it is a migration of its own behind this one.

-- Sessions ----------------------------------------------------------------------------------------------------------

-- One grade a session, as the original design has it; a table that its program made is taken as it is.
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

-- What else is known of a graded session; a row of the original two-table database may have none.
CREATE TABLE session_details (
    session_id TEXT PRIMARY KEY NOT NULL,
    state TEXT NOT NULL,                       -- complete | interrupted | open
    state_reason TEXT NOT NULL,
    task_type TEXT NOT NULL,
    format TEXT NOT NULL,
    host TEXT NOT NULL,                        -- the machine that graded it
    ended_at TEXT,                             -- the session's last update, else the file's modification time
    messages INTEGER NOT NULL,
    tool_calls INTEGER NOT NULL,
    had_user_refusal INTEGER NOT NULL,
    had_user_interruption INTEGER NOT NULL,
    digest TEXT NOT NULL,                      -- XXH3-128 of the file
    rules_version TEXT NOT NULL,
    p_completed REAL,
    reasons TEXT NOT NULL,                     -- JSON array of {score, rule, effect, messages}
    updated_at TEXT,
    lineage INTEGER,                           -- start in microseconds; shared by the links of a compression chain
    opening INTEGER,                           -- digest of the first message; shared by them too
    conversation INTEGER,                      -- shared by copies of one conversation
    compacted INTEGER NOT NULL,
    named_after_id INTEGER NOT NULL,
    ended_on TEXT,                             -- the day of ended_at where the person lives
    tools TEXT,                                -- JSON array of [tool, calls, failures]
    loop_told INTEGER NOT NULL DEFAULT 0,      -- its loop risk was logged while it ran
    watched INTEGER NOT NULL DEFAULT 0,        -- the watch on degradation has seen it
    verdict_by TEXT NOT NULL DEFAULT 'rules',  -- rules | model | person
    rules_completed INTEGER,                   -- what the rules say, whoever decides
    automatic_completed INTEGER,               -- where a person's word stands: what would stand otherwise
    automatic_by TEXT,                         -- rules | model
    automatic_quality INTEGER,
    features TEXT,                             -- JSON array: numbers, and those that are 0 or 1 as bits in Base64
    claims TEXT,                               -- JSON array of {kind, support, subject, index, evidence}
    people TEXT,                               -- JSON array of {kind, index}
    request INTEGER,                           -- digest of what was asked for
    asked_again TEXT,                          -- the session in which it was asked for again
    project TEXT,                              -- the folder that was worked in
    scored INTEGER NOT NULL DEFAULT 1,         -- 0: nothing was finished, so that the four scores say nothing
    unsure INTEGER NOT NULL DEFAULT 0,         -- the automatic verdict may as well be wrong
    started_at TEXT,                           -- of sessions with a conversation, for its two indexes
    unit_key TEXT NOT NULL DEFAULT '',         -- which of the sessions in its file; '' where that holds one
    agent TEXT,
    agent_version TEXT,
    kind TEXT,                                 -- main | sub_agent | cron | review; mostly a person's
    parent TEXT,                               -- the session that had it begun, or that it goes on from
    input_tokens INTEGER,
    cache_read_tokens INTEGER,
    cache_write_tokens INTEGER,
    output_tokens INTEGER,
    reasoning_tokens INTEGER,
    cost_usd REAL,
    cost_by TEXT,                              -- agent | the list of prices and its version
    undone INTEGER NOT NULL DEFAULT 0,         -- changes that a person took back
    first_call INTEGER,                        -- a digest of the id of the first one
    calls BLOB,                                -- 4 bytes of a digest of each, from the first one
    system_prompt_digest TEXT,
    tools_digest TEXT,
    wording BLOB,                              -- a sketch of the words of the request
    skills TEXT,                               -- JSON array; NULL where the agent does not tell
    early_errors INTEGER,                      -- errors among its first calls
    fleet_host TEXT,                           -- the machine of the fleet that it was copied from
    request_words TEXT,                        -- of the first request, each once, redacted
    answer_beginning TEXT,                     -- the first 200 characters, redacted
    last_check TEXT,                           -- the last test run that passed
    edited_paths TEXT                          -- a line each, the last one first
);
CREATE INDEX session_details_ended_at ON session_details (ended_at);
CREATE INDEX session_details_chain ON session_details (lineage, opening, updated_at, messages, session_id)
    WHERE lineage IS NOT NULL;
CREATE INDEX session_details_summaries ON session_details (lineage, opening, updated_at, messages, session_id)
    WHERE lineage IS NOT NULL AND compacted;
CREATE INDEX session_details_ends ON session_details (conversation, updated_at, started_at)
    WHERE conversation IS NOT NULL;
CREATE INDEX session_details_starts ON session_details (conversation, started_at) WHERE conversation IS NOT NULL;
CREATE INDEX session_details_request ON session_details (request, ended_at, session_id) WHERE request IS NOT NULL;
CREATE INDEX session_details_parent ON session_details (parent) WHERE parent IS NOT NULL;
CREATE INDEX session_details_forks ON session_details (first_call, updated_at) WHERE first_call IS NOT NULL;
CREATE INDEX session_details_people ON session_details (ended_at) WHERE people <> '[]';
CREATE INDEX session_details_asked_again ON session_details (ended_at) WHERE asked_again IS NOT NULL;

-- The failed calls of each graded session.
CREATE TABLE session_failures (
    session_id TEXT NOT NULL,
    message_index INTEGER NOT NULL,            -- from 0
    tool TEXT,
    category TEXT NOT NULL,
    fingerprint TEXT,
    command TEXT,                              -- family of the shell command
    ended_at TEXT,                             -- of the session, when it is finished
    next_tool TEXT,                            -- what the agent tried next
    next_command TEXT,
    next_worked INTEGER,
    kind TEXT NOT NULL DEFAULT 'harmful',      -- harmful | recovered | probe
    subcategory TEXT,
    named TEXT,                                -- what the message names where others of its cause name others, redacted
    PRIMARY KEY (session_id, message_index)
) WITHOUT ROWID;
CREATE INDEX session_failures_fingerprint ON session_failures (fingerprint, ended_at)
    WHERE fingerprint IS NOT NULL AND ended_at IS NOT NULL;

-- What sessions are listed, filtered and sorted by, in the order in which they are listed: so narrow that a look at
-- all of them is cheap, where rows of grades are twenty times as wide. Like sums, this table and the next two are
-- made from the grades.
CREATE TABLE session_list (
    ended_at TEXT NOT NULL,                    -- where that is not known: when it was graded
    session_id TEXT NOT NULL,
    id INTEGER NOT NULL,                       -- of session_grades
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
    verified INTEGER NOT NULL,                 -- claims that the record shows
    unsupported INTEGER NOT NULL,
    contradicted INTEGER NOT NULL,
    unsure INTEGER NOT NULL DEFAULT 0,         -- unless a person decided
    cost_usd REAL,
    agent TEXT,
    kind TEXT NOT NULL DEFAULT 'main',
    request INTEGER,
    agent_version TEXT,
    system_prompt_digest TEXT,
    tools_digest TEXT,
    skills TEXT,
    early_errors INTEGER,
    PRIMARY KEY (ended_at, session_id)
) WITHOUT ROWID;
CREATE INDEX session_list_open ON session_list (ended_at, session_id) WHERE state = 'open';
CREATE INDEX session_list_judged ON session_list (ended_at, session_id) WHERE verdict_by = 'person';
CREATE INDEX session_list_contradicted ON session_list (ended_at, session_id) WHERE contradicted > 0;
CREATE INDEX session_list_cost ON session_list (cost_usd, ended_at, session_id) WHERE cost_usd IS NOT NULL;

-- What a session has several of: the tools that it used, the categories of its errors.
CREATE TABLE session_facets (
    facet TEXT NOT NULL,                       -- tool | error
    value TEXT NOT NULL,
    id INTEGER NOT NULL,                       -- of session_grades
    PRIMARY KEY (facet, value, id)
) WITHOUT ROWID;

-- The words of the tasks, to be searched for.
CREATE VIRTUAL TABLE session_words USING fts5(
    task_summary, content = '', contentless_delete = 1, detail = none, tokenize = 'unicode61'
);

-- Files -------------------------------------------------------------------------------------------------------------

-- The ledger: what became of every file.
CREATE TABLE session_files (
    source TEXT NOT NULL,
    path TEXT NOT NULL,                        -- the file that holds it
    key TEXT NOT NULL,                         -- which of the sessions in that file; '' where it holds one
    stamp BLOB NOT NULL,
    written_ns INTEGER NOT NULL,               -- when it was written last, nanoseconds since 1970
    digest TEXT,
    session_id TEXT,
    state TEXT NOT NULL,                       -- graded | skipped | retry | dead
    reason TEXT,                               -- why it was skipped
    attempts INTEGER NOT NULL,                 -- failed ones since the content last changed
    retry_at TEXT,                             -- when to look again though nothing changed
    last_error TEXT,
    rules_version TEXT,
    grades INTEGER NOT NULL,                   -- how often it was graded
    seen_at TEXT NOT NULL,
    UNIQUE (source, path, key)
);
CREATE INDEX session_files_session_id ON session_files (session_id) WHERE session_id IS NOT NULL;
CREATE INDEX session_files_retry_at ON session_files (retry_at) WHERE retry_at IS NOT NULL;
CREATE INDEX session_files_state ON session_files (state, written_ns) WHERE state <> 'graded';
CREATE INDEX session_files_rules ON session_files (coalesce(rules_version, '')) WHERE state = 'graded';
CREATE INDEX session_files_trouble ON session_files (seen_at) WHERE state IN ('dead', 'retry');
CREATE TRIGGER session_files_changed AFTER UPDATE OF state, reason ON session_files
WHEN old.state <> new.state OR old.reason IS NOT new.reason BEGIN
    UPDATE file_counts SET files = files - 1 WHERE state = old.state AND reason = coalesce(old.reason, '');
    INSERT INTO file_counts VALUES (new.state, coalesce(new.reason, ''), 1)
    ON CONFLICT (state, reason) DO UPDATE SET files = files + 1;
END;
CREATE TRIGGER session_files_removed AFTER DELETE ON session_files BEGIN
    UPDATE file_counts SET files = files - 1 WHERE state = old.state AND reason = coalesce(old.reason, '');
END;

-- How many files of each state, and why they were skipped: triggers keep it, whatever changes a file's row.
CREATE TABLE file_counts (
    state TEXT NOT NULL,
    reason TEXT NOT NULL,                      -- '' where there is none
    files INTEGER NOT NULL,
    PRIMARY KEY (state, reason)
) WITHOUT ROWID;

-- The grade made last (live = 0), and the last one made while the daemon ran of a file that was written then (live
-- = 1).
CREATE TABLE last_grades (
    live INTEGER PRIMARY KEY,
    session_id TEXT,
    graded_at TEXT NOT NULL,
    lag_seconds REAL NOT NULL                  -- after the last write of the file
);

-- How long after the last write of their files sessions were graded while the daemon ran, as a histogram: a row for
-- each span of lags that occurred.
CREATE TABLE live_lags (
    longer_than REAL PRIMARY KEY,              -- seconds; the next longer span begins where this one ends
    grades INTEGER NOT NULL,
    seconds REAL NOT NULL,                     -- the sum of their lags
    session_id TEXT,
    lag_seconds REAL NOT NULL,
    graded_at TEXT NOT NULL
) WITHOUT ROWID;

-- People, and what is learned from them -----------------------------------------------------------------------------

-- What people said of grades: rows are added, never changed.
CREATE TABLE feedback (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    session_id TEXT NOT NULL,
    given_at TEXT NOT NULL,
    given_by TEXT NOT NULL,
    completed INTEGER,
    quality INTEGER,
    note TEXT,
    source TEXT NOT NULL,                      -- label | csv | review | api
    sampled TEXT,                              -- random | uncertain
    digest TEXT,                               -- of the file that was judged
    completed_before INTEGER NOT NULL,
    quality_before INTEGER NOT NULL,
    verdict_before TEXT NOT NULL,
    p_completed REAL,                          -- of the model, then
    withdraws INTEGER                          -- id of the row that this one takes back
);
CREATE INDEX feedback_session_id ON feedback (session_id, id);
CREATE TRIGGER feedback_stays BEFORE UPDATE ON feedback BEGIN
    SELECT raise(ABORT, 'feedback is added, never changed');
END;
CREATE TRIGGER feedback_is_kept BEFORE DELETE ON feedback BEGIN
    SELECT raise(ABORT, 'feedback is added, never deleted');
END;

-- What was learned from it: the weights of the judge, and what was measured.
CREATE TABLE calibrations (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    made_at TEXT NOT NULL,
    adopted INTEGER NOT NULL,                  -- its model and its verdict are used from then on
    verdict_by TEXT NOT NULL,                  -- rules | model
    policy TEXT NOT NULL,                      -- rules | model | auto
    labels INTEGER NOT NULL,
    model TEXT NOT NULL,                       -- JSON object
    evidence TEXT NOT NULL                     -- JSON object: what was measured, and what changed
);

-- What scorers outside said of the quality of answers: a row for each call, made before it.
CREATE TABLE quality_checks (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    session_id TEXT NOT NULL,
    scorer TEXT NOT NULL,
    checked_at TEXT NOT NULL,
    digest TEXT,                               -- of the file that was judged
    budgeted INTEGER NOT NULL,                 -- it counts towards quality_checks_per_day
    outcome TEXT NOT NULL,                     -- asked | answered | no_answer | unavailable
    quality REAL,                              -- 1 to 5; none when there was no answer
    ours INTEGER NOT NULL,                     -- response_quality as it was graded automatically
    discrepancy REAL,
    error TEXT
);
CREATE INDEX quality_checks_session_id ON quality_checks (session_id, id);
CREATE INDEX quality_checks_checked_at ON quality_checks (checked_at);

-- Causes of failures ------------------------------------------------------------------------------------------------

-- Failures of one cause, and what people said of it.
CREATE TABLE error_issues (
    fingerprint TEXT PRIMARY KEY NOT NULL,
    tool TEXT,
    command TEXT,
    category TEXT NOT NULL,
    signal TEXT NOT NULL,
    example TEXT NOT NULL,
    resolved_at TEXT,
    ignored_at TEXT,
    subcategory TEXT
) WITHOUT ROWID;

-- How often each cause failed on a day, in how many sessions, and how many of them recovered.
CREATE TABLE issue_days (
    fingerprint TEXT NOT NULL,
    day TEXT NOT NULL,
    failures INTEGER NOT NULL,
    sessions INTEGER NOT NULL,
    recovered INTEGER NOT NULL,
    PRIMARY KEY (fingerprint, day)
) WITHOUT ROWID;
CREATE INDEX issue_days_day ON issue_days (day);

-- What was tried next after failures of a cause.
CREATE TABLE issue_steps (
    fingerprint TEXT NOT NULL,
    day TEXT NOT NULL,
    tool TEXT NOT NULL,
    command TEXT NOT NULL,
    tries INTEGER NOT NULL,
    worked INTEGER NOT NULL,
    completed INTEGER NOT NULL,
    recovered INTEGER NOT NULL DEFAULT 0,      -- after how many tries the failure was got over
    PRIMARY KEY (fingerprint, day, tool, command)
) WITHOUT ROWID;

-- In sessions of which types of task a cause failed.
CREATE TABLE issue_tasks (
    fingerprint TEXT NOT NULL,
    day TEXT NOT NULL,
    task_type TEXT NOT NULL,
    sessions INTEGER NOT NULL,
    PRIMARY KEY (fingerprint, day, task_type)
) WITHOUT ROWID;

-- Sums --------------------------------------------------------------------------------------------------------------

-- Sums over finished sessions by group and day; see domain/rollup.py. They always equal what the rows of grades
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
    unanswered INTEGER NOT NULL DEFAULT 0,     -- finished sessions with neither an answer nor a call
    unanswered_judged INTEGER NOT NULL DEFAULT 0, -- those of them on whose completion a person has a word
    side INTEGER NOT NULL DEFAULT 0,           -- finished sessions, no tasks of a person
    input_tokens INTEGER NOT NULL DEFAULT 0,
    cache_read_tokens INTEGER NOT NULL DEFAULT 0,
    cache_write_tokens INTEGER NOT NULL DEFAULT 0,
    output_tokens INTEGER NOT NULL DEFAULT 0,
    metered INTEGER NOT NULL DEFAULT 0,        -- sessions of which the tokens are known
    cost_millionths INTEGER NOT NULL DEFAULT 0, -- of a US dollar
    priced INTEGER NOT NULL DEFAULT 0,         -- sessions of which the cost is known
    side_millionths INTEGER NOT NULL DEFAULT 0, -- the part of side
    priced_completed INTEGER NOT NULL DEFAULT 0, -- completed tasks of which the cost is known
    interrupted INTEGER NOT NULL DEFAULT 0,    -- sessions that were cut short
    interrupted_judged INTEGER NOT NULL DEFAULT 0, -- those of them that have a verdict
    unscored_completed INTEGER NOT NULL DEFAULT 0, -- sessions without scores that count as completed
    PRIMARY KEY (dimension, day, name)
) WITHOUT ROWID;

-- The same by month.
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
    unanswered INTEGER NOT NULL DEFAULT 0,
    unanswered_judged INTEGER NOT NULL DEFAULT 0,
    side INTEGER NOT NULL DEFAULT 0,
    input_tokens INTEGER NOT NULL DEFAULT 0,
    cache_read_tokens INTEGER NOT NULL DEFAULT 0,
    cache_write_tokens INTEGER NOT NULL DEFAULT 0,
    output_tokens INTEGER NOT NULL DEFAULT 0,
    metered INTEGER NOT NULL DEFAULT 0,
    cost_millionths INTEGER NOT NULL DEFAULT 0,
    priced INTEGER NOT NULL DEFAULT 0,
    side_millionths INTEGER NOT NULL DEFAULT 0,
    priced_completed INTEGER NOT NULL DEFAULT 0,
    interrupted INTEGER NOT NULL DEFAULT 0,
    interrupted_judged INTEGER NOT NULL DEFAULT 0,
    unscored_completed INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (dimension, month, name)
) WITHOUT ROWID;

-- What was tried next after failures of a tool; is_retry: the same tool and command again.
CREATE TABLE daily_steps (
    day TEXT NOT NULL,
    tool TEXT NOT NULL,
    next_tool TEXT NOT NULL,
    next_command TEXT NOT NULL,
    is_retry INTEGER NOT NULL,                 -- the same tool and command again
    tries INTEGER NOT NULL,
    worked INTEGER NOT NULL,
    completed INTEGER NOT NULL,
    recovered INTEGER NOT NULL DEFAULT 0,      -- after how many tries the failure was got over
    PRIMARY KEY (day, tool, next_tool, next_command, is_retry)
) WITHOUT ROWID;

-- The same by month.
CREATE TABLE monthly_steps (
    month TEXT NOT NULL,
    tool TEXT NOT NULL,
    next_tool TEXT NOT NULL,
    next_command TEXT NOT NULL,
    is_retry INTEGER NOT NULL,
    tries INTEGER NOT NULL,
    worked INTEGER NOT NULL,
    completed INTEGER NOT NULL,
    recovered INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (month, tool, next_tool, next_command, is_retry)
) WITHOUT ROWID;

-- How often something changed on a day: a report that was made of other revisions is out of date.
CREATE TABLE rollup_days (
    day TEXT PRIMARY KEY NOT NULL,
    revision INTEGER NOT NULL                  -- raised with each change
) WITHOUT ROWID;

-- Reports and alerts ------------------------------------------------------------------------------------------------

-- The weekly reports, as the original design has them.
CREATE TABLE IF NOT EXISTS weekly_reports (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    week_start TEXT UNIQUE NOT NULL,
    week_end TEXT NOT NULL,
    generated_at TEXT NOT NULL,
    report_json TEXT NOT NULL  -- Serialized WeeklyReport
);

-- What each weekly report was made of: the sum of the revisions of its days.
CREATE TABLE report_bases (
    week_start TEXT PRIMARY KEY NOT NULL,
    basis INTEGER NOT NULL
) WITHOUT ROWID;

-- What the watch on degradation and the thresholds told, and what people said of it.
CREATE TABLE alerts (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    kind TEXT NOT NULL,                        -- degradation | threshold
    level TEXT NOT NULL,                       -- warning | critical
    rule TEXT,                                 -- name of the threshold
    drops TEXT NOT NULL,                       -- JSON array: the streams that it shows in, with their numbers
    sessions TEXT NOT NULL,                    -- JSON array of session ids: those that weigh most
    changes TEXT NOT NULL,                     -- JSON array: what else changed then
    decomposition TEXT,                        -- JSON object: the mix of work, or the same work
    opened_at TEXT NOT NULL,
    began_at TEXT NOT NULL,                    -- when it is thought to have begun
    resolved_at TEXT,
    acknowledged_at TEXT,
    note TEXT,
    told INTEGER NOT NULL,                     -- 1: it went to the log
    setup_change TEXT                          -- JSON object: the change of the set-up that fits in time
);
CREATE INDEX alerts_open ON alerts (opened_at) WHERE resolved_at IS NULL;
CREATE INDEX alerts_opened_at ON alerts (opened_at);

-- The watch on degradation: a detector for each stream, and how far it has read.
CREATE TABLE alert_streams (
    metric TEXT NOT NULL,
    dimension TEXT NOT NULL,
    name TEXT NOT NULL,
    state TEXT NOT NULL,                       -- JSON object
    PRIMARY KEY (metric, dimension, name)
) WITHOUT ROWID;

-- How far the watch has read; one row.
CREATE TABLE alert_position (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    ended_at TEXT NOT NULL,
    session_id TEXT NOT NULL,
    watched_from TEXT                          -- when the watch began
);

-- Streams that people do not want to hear of for a while.
CREATE TABLE alert_silences (
    metric TEXT NOT NULL,
    dimension TEXT NOT NULL,
    name TEXT NOT NULL,
    until TEXT NOT NULL,
    PRIMARY KEY (metric, dimension, name)
) WITHOUT ROWID;

-- Messages to receivers; a receiver tells repeats by their numbers.
CREATE TABLE outbox (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    kind TEXT NOT NULL,                        -- of what it tells: alert
    subject TEXT NOT NULL,                     -- which one
    event TEXT NOT NULL,                       -- opened | resolved
    channel TEXT NOT NULL,                     -- webhook | command
    payload TEXT NOT NULL,
    created_at TEXT NOT NULL,
    attempts INTEGER NOT NULL,
    next_at TEXT NOT NULL,
    delivered_at TEXT,
    last_error TEXT
);
CREATE INDEX outbox_waiting ON outbox (channel, id) WHERE delivered_at IS NULL;

-- The daemon --------------------------------------------------------------------------------------------------------

-- What the running daemon says of itself; one row.
CREATE TABLE daemon_status (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    pid INTEGER NOT NULL,
    started_at TEXT NOT NULL,
    said_at TEXT NOT NULL,
    backlog INTEGER NOT NULL,
    watching TEXT NOT NULL,                    -- JSON object: root to watch state
    waiting_since TEXT,
    compared_at TEXT,
    failures TEXT NOT NULL DEFAULT '{}',       -- JSON object: how often each source failed
    failing TEXT NOT NULL DEFAULT '[]'         -- JSON array: the sources that fail now
);

-- When each job of the scheduler ran, and how that ended.
CREATE TABLE job_runs (
    id INTEGER PRIMARY KEY,
    job TEXT NOT NULL,
    started_at TEXT NOT NULL,
    finished_at TEXT NOT NULL,
    outcome TEXT NOT NULL,                     -- done | failed
    error TEXT
);
CREATE INDEX job_runs_job ON job_runs (job, id);

-- Changes, for whoever follows them ---------------------------------------------------------------------------------

-- What changed, in one order, for whoever follows it: a row for each thing, which moves to the end when it changes
-- again.
CREATE TABLE grade_changes (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    kind TEXT NOT NULL,                        -- grade | label | retraction | alert
    subject TEXT NOT NULL,                     -- the id of the session, or the number of the alert
    UNIQUE (kind, subject)
);

-- How far each follower of the change feed has read that keeps its place here.
CREATE TABLE feed_positions (
    follower TEXT PRIMARY KEY,
    seq INTEGER NOT NULL
) WITHOUT ROWID;

-- Skills and configuration ------------------------------------------------------------------------------------------

-- Skills and configuration files of agents as they were seen on disk: a row for each version, as long as it lay
-- there.
CREATE TABLE observed_versions (
    path TEXT NOT NULL,
    first_seen TEXT NOT NULL,
    last_seen TEXT NOT NULL,
    kind TEXT NOT NULL,                        -- skill | configuration
    name TEXT NOT NULL,
    agent TEXT,                                -- whose it is; NULL when anybody may use it
    digest TEXT NOT NULL,
    bytes INTEGER NOT NULL,
    written_at TEXT NOT NULL,
    gone_at TEXT,                              -- when it was first seen to be gone
    PRIMARY KEY (path, first_seen)
) WITHOUT ROWID;

-- Archives ----------------------------------------------------------------------------------------------------------

-- Which objects of archives are graded, by a digest of name and version: an interrupted backfill goes on behind
-- them.
CREATE TABLE archive_objects (
    digest INTEGER PRIMARY KEY
);

-- Fleet -------------------------------------------------------------------------------------------------------------

-- The machines of the fleet whose rows are copied here.
CREATE TABLE fleet_hosts (
    host TEXT PRIMARY KEY,
    user TEXT,                                 -- whose machine it is; NULL where nobody said
    epoch INTEGER NOT NULL,                    -- raised when all rows of the machine are to be read anew
    seq INTEGER NOT NULL,                      -- up to which change of the machine its rows are here
    version TEXT,
    last_seen TEXT,                            -- by the clock of the fleet's database
    unread INTEGER NOT NULL,                   -- rows that this version of the program could not read
    older INTEGER NOT NULL DEFAULT 0           -- rows that a newer version would read, and this one left out
) WITHOUT ROWID;

-- Of which fleet this is a copy, and how far; one row.
CREATE TABLE fleet_copy (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    fleet TEXT NOT NULL,                       -- names the fleet for ever
    version TEXT NOT NULL,                     -- of the program that read it
    read_at TEXT,                              -- when all that the fleet's database had was here
    decisions INTEGER NOT NULL,                -- version of its alerts, and of what people said of them, that is here
    labels_at TEXT                             -- when the last label that is here came in there
);

-- What people said of errors of which no session is here yet, or any more.
CREATE TABLE fleet_marks (
    fingerprint TEXT PRIMARY KEY,
    resolved_at TEXT,
    ignored_at TEXT
) WITHOUT ROWID;
