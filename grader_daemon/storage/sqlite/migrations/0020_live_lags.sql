-- How long after the last write of their files sessions were graded while the daemon ran, as a histogram: a row for each
-- span of lags that occurred, with the grade made last in it.
CREATE TABLE live_lags (
    longer_than REAL PRIMARY KEY,  -- seconds; the next longer span begins where this one ends
    grades INTEGER NOT NULL,
    seconds REAL NOT NULL,         -- the sum of their lags
    session_id TEXT,
    lag_seconds REAL NOT NULL,
    graded_at TEXT NOT NULL
) WITHOUT ROWID;
