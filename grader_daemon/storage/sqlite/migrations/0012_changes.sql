-- What changed, in one order, for whoever follows it: a row for each thing, which moves to the end when it changes again.
CREATE TABLE grade_changes (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    kind TEXT NOT NULL,            -- grade | label | retraction | alert
    subject TEXT NOT NULL,         -- the id of the session, or the number of the alert
    UNIQUE (kind, subject)
);
INSERT INTO grade_changes (kind, subject) SELECT 'grade', session_id FROM session_grades ORDER BY id;
INSERT INTO grade_changes (kind, subject) SELECT 'label', session_id FROM feedback GROUP BY session_id ORDER BY max(id);
INSERT INTO grade_changes (kind, subject) SELECT 'alert', id FROM alerts ORDER BY id;

-- Messages to receivers may be about anything. Numbers go on where they were: receivers tell repeats by them.
CREATE TABLE outbox (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    kind TEXT NOT NULL,            -- of what it tells: alert
    subject TEXT NOT NULL,         -- which one
    event TEXT NOT NULL,           -- opened | resolved
    channel TEXT NOT NULL,         -- webhook | command
    payload TEXT NOT NULL,
    created_at TEXT NOT NULL,
    attempts INTEGER NOT NULL,
    next_at TEXT NOT NULL,
    delivered_at TEXT,
    last_error TEXT
);
INSERT INTO sqlite_sequence (name, seq) SELECT 'outbox', seq FROM sqlite_sequence WHERE name = 'alert_outbox';
INSERT INTO outbox
SELECT id, 'alert', alert, event, channel, payload, created_at, attempts, next_at, delivered_at, last_error
FROM alert_outbox ORDER BY id;
DROP TABLE alert_outbox;
CREATE INDEX outbox_waiting ON outbox (channel, id) WHERE delivered_at IS NULL;
