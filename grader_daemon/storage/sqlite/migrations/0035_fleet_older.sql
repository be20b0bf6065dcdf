-- A copy of a fleet has the newest sessions first: of each machine, changes up to this one are still to be read.
ALTER TABLE fleet_hosts ADD COLUMN older INTEGER NOT NULL DEFAULT 0;
-- What people said of errors of which no session is here yet, or any more.
CREATE TABLE fleet_marks (fingerprint TEXT PRIMARY KEY, resolved_at TEXT, ignored_at TEXT) WITHOUT ROWID;
