-- How many files of each state, and why they were skipped: triggers keep it, whatever changes a file's row.
CREATE TABLE file_counts (
    state TEXT NOT NULL,
    reason TEXT NOT NULL,          -- '' where there is none
    files INTEGER NOT NULL,
    PRIMARY KEY (state, reason)
) WITHOUT ROWID;
INSERT INTO file_counts SELECT state, coalesce(reason, ''), count(*) FROM session_files GROUP BY 1, 2;
CREATE TRIGGER session_files_added AFTER INSERT ON session_files BEGIN
    INSERT INTO file_counts VALUES (new.state, coalesce(new.reason, ''), 1)
    ON CONFLICT (state, reason) DO UPDATE SET files = files + 1;
END;
CREATE TRIGGER session_files_changed AFTER UPDATE OF state, reason ON session_files
WHEN old.state <> new.state OR old.reason IS NOT new.reason BEGIN
    UPDATE file_counts SET files = files - 1 WHERE state = old.state AND reason = coalesce(old.reason, '');
    INSERT INTO file_counts VALUES (new.state, coalesce(new.reason, ''), 1)
    ON CONFLICT (state, reason) DO UPDATE SET files = files + 1;
END;
CREATE TRIGGER session_files_removed AFTER DELETE ON session_files BEGIN
    UPDATE file_counts SET files = files - 1 WHERE state = old.state AND reason = coalesce(old.reason, '');
END;

-- Files whose grades are of other rules, and files that could not be graded, without a look at all others.
CREATE INDEX session_files_rules ON session_files (coalesce(rules_version, '')) WHERE state = 'graded';
CREATE INDEX session_files_trouble ON session_files (seen_at) WHERE state IN ('dead', 'retry');

-- The grade made last, and the last of a file that was written, and then graded for the first time, while the daemon ran.
CREATE TABLE last_grades (
    live INTEGER PRIMARY KEY,
    session_id TEXT,
    graded_at TEXT NOT NULL,
    lag_seconds REAL NOT NULL      -- after the last write of the file
);
INSERT INTO last_grades
SELECT 0, session_id, seen_at, unixepoch(seen_at) - mtime_ns / 1e9
FROM session_files WHERE state = 'graded' AND unixepoch(seen_at) IS NOT NULL ORDER BY seen_at DESC LIMIT 1;
