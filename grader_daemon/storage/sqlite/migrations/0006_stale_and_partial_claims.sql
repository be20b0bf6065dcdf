-- Claims that a check showed before the last change, and those of which a part was done. No grade has had one so far.
ALTER TABLE session_list ADD COLUMN stale INTEGER NOT NULL DEFAULT 0;
ALTER TABLE session_list ADD COLUMN partial INTEGER NOT NULL DEFAULT 0;
CREATE INDEX session_list_stale ON session_list (ended_at, session_id) WHERE stale > 0;
CREATE INDEX session_list_partial ON session_list (ended_at, session_id) WHERE partial > 0;
