-- A session is one unit of a source: in a file of its own (key ''), or one of many in a file or a database. What is known
-- so far are files of Hermes. The stamp is what the source says of the content without reading it: for files the 64 bits
-- of device, inode, size, modification and change time, big-endian.
CREATE TABLE session_units (
    source TEXT NOT NULL,
    path TEXT NOT NULL,            -- the file that holds it
    key TEXT NOT NULL,             -- which of the sessions in that file; '' where it holds one
    stamp BLOB NOT NULL,
    written_ns INTEGER NOT NULL,   -- when it was written last, nanoseconds since 1970
    digest TEXT,
    session_id TEXT,
    state TEXT NOT NULL,           -- graded | skipped | retry | dead
    reason TEXT,                   -- why it was skipped
    attempts INTEGER NOT NULL,     -- failed ones since the content last changed
    retry_at TEXT,                 -- when to look again though nothing changed
    last_error TEXT,
    rules_version TEXT,
    grades INTEGER NOT NULL,       -- how often it was graded
    seen_at TEXT NOT NULL,
    UNIQUE (source, path, key)
);
INSERT INTO session_units
SELECT 'hermes', path, '', unhex(printf('%016x%016x%016x%016x%016x', device, inode, size, mtime_ns, ctime_ns)), mtime_ns,
    digest, session_id, state, reason, attempts, retry_at, last_error, rules_version, grades, seen_at
FROM session_files ORDER BY rowid;
DROP TABLE session_files;
ALTER TABLE session_units RENAME TO session_files;

CREATE INDEX session_files_session_id ON session_files (session_id) WHERE session_id IS NOT NULL;
CREATE INDEX session_files_retry_at ON session_files (retry_at) WHERE retry_at IS NOT NULL;
CREATE INDEX session_files_state ON session_files (state, written_ns) WHERE state <> 'graded';
CREATE INDEX session_files_rules ON session_files (coalesce(rules_version, '')) WHERE state = 'graded';
CREATE INDEX session_files_trouble ON session_files (seen_at) WHERE state IN ('dead', 'retry');
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

-- With its format, which is the name of the source, and its file: the unit that a grade was made of.
ALTER TABLE session_details ADD COLUMN unit_key TEXT NOT NULL DEFAULT '';
