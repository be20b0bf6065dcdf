-- A fork copies the history of a session under a new id: known by the ids of their tool calls.
ALTER TABLE session_details ADD COLUMN first_call INTEGER;     -- a digest of the id of the first one
ALTER TABLE session_details ADD COLUMN calls BLOB;             -- 4 bytes of a digest of each, from the first one
CREATE INDEX session_details_forks ON session_details (first_call, updated_at) WHERE first_call IS NOT NULL;
