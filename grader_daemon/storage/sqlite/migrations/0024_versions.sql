-- Skills and configuration files of agents as they were seen on disk: a row for each version, as long as it lay there.
CREATE TABLE observed_versions (
    path TEXT NOT NULL,
    first_seen TEXT NOT NULL,
    last_seen TEXT NOT NULL,
    kind TEXT NOT NULL,            -- skill | configuration
    name TEXT NOT NULL,
    agent TEXT,                    -- whose it is; NULL when anybody may use it
    digest TEXT NOT NULL,
    bytes INTEGER NOT NULL,
    written_at TEXT NOT NULL,
    PRIMARY KEY (path, first_seen)
) WITHOUT ROWID;
