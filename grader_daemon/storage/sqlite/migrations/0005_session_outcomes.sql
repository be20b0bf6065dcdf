-- What became of the work of a session, as the wing `outcomes` saw it: no text of a session, but digests of its lines.
CREATE TABLE session_outcomes (
    session_id TEXT PRIMARY KEY NOT NULL,
    digest TEXT,                               -- of the session's file that `work` was read from
    repository TEXT,                           -- the folder of the work tree
    ended_at TEXT NOT NULL,                    -- of the session
    left_anything INTEGER NOT NULL,            -- there is a fate to be told
    due_at TEXT,                               -- when it is looked at again; NULL: not any more
    work TEXT NOT NULL,                        -- JSON: its files, digests of lines, ids of commits
    fate TEXT NOT NULL                         -- JSON: what was seen at the last look
);
CREATE INDEX session_outcomes_told ON session_outcomes (ended_at) WHERE left_anything;
CREATE INDEX session_outcomes_repository ON session_outcomes (repository) WHERE repository IS NOT NULL;
