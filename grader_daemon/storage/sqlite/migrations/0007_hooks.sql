-- Claims that the record spoke against when an agent wanted to stop, each of a session once.
CREATE TABLE hook_findings (
    session_id TEXT NOT NULL,
    claim TEXT NOT NULL,                       -- in a few words: "tests passed"
    found_at TEXT NOT NULL,
    agent TEXT NOT NULL,
    mode TEXT NOT NULL,                        -- tell, block or log
    is_told INTEGER NOT NULL,                  -- 0 where the trial, the mode or the time forbade it
    trial INTEGER,                             -- that ran then; none without one
    PRIMARY KEY (session_id, claim)
) WITHOUT ROWID;
CREATE INDEX hook_findings_found_at ON hook_findings (found_at);

-- Trials of telling: while one runs, one session of two is told nothing, by chance.
CREATE TABLE hook_trials (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    began_at TEXT NOT NULL,
    ended_at TEXT,                             -- none while it runs
    salt TEXT NOT NULL                         -- draws the sessions that are told
);
