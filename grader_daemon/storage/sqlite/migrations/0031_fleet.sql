-- A copy of the grades of a fleet: which machine each is of, how far that of each machine is, and which fleet it is of.
-- In a machine's own database the column is NULL everywhere, and the tables are empty.
ALTER TABLE session_details ADD COLUMN fleet_host TEXT;
CREATE TABLE fleet_hosts (
    host TEXT PRIMARY KEY,
    user TEXT,                     -- whose machine it is; NULL where nobody said
    epoch INTEGER NOT NULL,        -- raised when all rows of the machine are to be read anew
    seq INTEGER NOT NULL,          -- up to which change of the machine its rows are here
    version TEXT,
    last_seen TEXT,                -- by the clock of the fleet's database
    unread INTEGER NOT NULL        -- rows that this version of the program could not read
) WITHOUT ROWID;
CREATE TABLE fleet_copy (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    fleet TEXT NOT NULL,           -- names the fleet for ever
    version TEXT NOT NULL,         -- of the program that read it
    read_at TEXT,                  -- when all that the fleet's database had was here
    decisions INTEGER NOT NULL,    -- version of its alerts, and of what people said of them, that is here
    labels_at TEXT                 -- when the last label that is here came in there
);
