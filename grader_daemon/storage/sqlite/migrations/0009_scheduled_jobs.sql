-- The scheduled job that a session is a run of; NULL of others.
ALTER TABLE session_details ADD COLUMN job TEXT;
ALTER TABLE session_details ADD COLUMN job_name TEXT;
ALTER TABLE session_list ADD COLUMN job TEXT;

-- The jobs that are kept, each by its last run.
CREATE TABLE scheduled_jobs (
    job TEXT PRIMARY KEY NOT NULL,
    name TEXT NOT NULL,
    agent TEXT,
    last_day TEXT NOT NULL
) WITHOUT ROWID;

-- Facts of their runs, by the day on which they ended, and by month.
CREATE TABLE daily_jobs (
    day TEXT NOT NULL,
    job TEXT NOT NULL,
    runs INTEGER NOT NULL,
    recorded INTEGER NOT NULL,
    ended_badly INTEGER NOT NULL,
    check_failed INTEGER NOT NULL,
    contradicted INTEGER NOT NULL,
    cut_short INTEGER NOT NULL,
    gave_up INTEGER NOT NULL,
    seconds INTEGER NOT NULL,
    timed INTEGER NOT NULL,
    PRIMARY KEY (day, job)
) WITHOUT ROWID;
CREATE TABLE monthly_jobs (
    month TEXT NOT NULL,
    job TEXT NOT NULL,
    runs INTEGER NOT NULL,
    recorded INTEGER NOT NULL,
    ended_badly INTEGER NOT NULL,
    check_failed INTEGER NOT NULL,
    contradicted INTEGER NOT NULL,
    cut_short INTEGER NOT NULL,
    gave_up INTEGER NOT NULL,
    seconds INTEGER NOT NULL,
    timed INTEGER NOT NULL,
    PRIMARY KEY (month, job)
) WITHOUT ROWID;

-- The list has another column: list and sums are made anew from the grades.
DELETE FROM daily_rollups;
DELETE FROM monthly_rollups;
