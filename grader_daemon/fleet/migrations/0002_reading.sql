-- What it takes to have a copy of the fleet elsewhere, and to answer it: the rest of a grade, what was removed, what
-- errors look like, what people of the team say, and what was decided: its alerts, the state of the watch that raises
-- them, and what people said of alerts and errors. Hosts send everything again.
CREATE TABLE grader.fleet (
    id int PRIMARY KEY DEFAULT 1 CHECK (id = 1),
    name uuid NOT NULL DEFAULT gen_random_uuid(),
    decisions jsonb,
    decisions_version bigint NOT NULL DEFAULT 0
);
INSERT INTO grader.fleet DEFAULT VALUES;

ALTER TABLE grader.hosts ADD COLUMN user_name text, ADD COLUMN epoch bigint NOT NULL DEFAULT 0,
    ADD COLUMN labels_sent bigint NOT NULL DEFAULT 0;
UPDATE grader.hosts SET last_seq = 0;

ALTER TABLE grader.grades ADD COLUMN request bigint, ADD COLUMN wording bytea;
CREATE INDEX grades_changed_seq ON grader.grades (host, changed_seq);

CREATE TABLE grader.removals (
    host text NOT NULL REFERENCES grader.hosts ON DELETE CASCADE,
    session_id text NOT NULL,
    changed_seq bigint NOT NULL,
    PRIMARY KEY (host, session_id)
);
CREATE INDEX removals_changed_seq ON grader.removals (host, changed_seq);

CREATE TABLE grader.error_issues (
    host text NOT NULL REFERENCES grader.hosts ON DELETE CASCADE,
    fingerprint text NOT NULL,
    tool text,
    command text,
    category text NOT NULL,
    subcategory text,
    signal text,
    example text,
    PRIMARY KEY (host, fingerprint)
);

-- What people say of sessions, on their host or elsewhere; `withdraws` and `withdraws_by` are of what is taken back. A
-- host takes what was said elsewhere; by its clock only what was said there was given.
CREATE TABLE grader.labels (
    host text NOT NULL REFERENCES grader.hosts ON DELETE CASCADE,
    session_id text NOT NULL,
    given_by text NOT NULL,
    given_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    completed boolean,
    quality int,
    note text,
    withdraws timestamptz,
    withdraws_by text,
    kept_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    taken_at timestamptz,
    PRIMARY KEY (host, session_id, given_by, given_at)
);
CREATE INDEX labels_kept_at ON grader.labels (kept_at);
CREATE INDEX labels_waiting ON grader.labels (host) WHERE taken_at IS NULL;

GRANT USAGE ON SCHEMA grader TO grader_member;
GRANT SELECT ON ALL TABLES IN SCHEMA grader TO grader_reader, grader_member;
GRANT SELECT, INSERT, UPDATE, DELETE ON grader.removals, grader.error_issues TO grader_host;
GRANT SELECT, INSERT, UPDATE (taken_at) ON grader.labels TO grader_host;
GRANT UPDATE (epoch, labels_sent) ON grader.hosts TO grader_host;
GRANT INSERT (host, session_id, given_by, completed, quality, note, withdraws, withdraws_by) ON grader.labels
    TO grader_member;
GRANT UPDATE (decisions, decisions_version) ON grader.fleet TO grader_member;

ALTER TABLE grader.removals ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
ALTER TABLE grader.error_issues ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
ALTER TABLE grader.labels ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;

CREATE POLICY own ON grader.removals TO grader_host USING (host = substr(current_user, length('grader_host_') + 1));
CREATE POLICY own ON grader.error_issues TO grader_host USING (host = substr(current_user, length('grader_host_') + 1));
CREATE POLICY own ON grader.labels TO grader_host USING (host = substr(current_user, length('grader_host_') + 1));
CREATE POLICY speaking ON grader.labels FOR INSERT TO grader_member
    WITH CHECK (
        given_by = substr(current_user, length('grader_member_') + 1) AND coalesce(withdraws_by, given_by) = given_by
    );
CREATE POLICY reading ON grader.removals FOR SELECT TO grader_reader, grader_member USING (true);
CREATE POLICY reading ON grader.error_issues FOR SELECT TO grader_reader, grader_member USING (true);
CREATE POLICY reading ON grader.labels FOR SELECT TO grader_reader, grader_member USING (true);
CREATE POLICY members ON grader.hosts FOR SELECT TO grader_member USING (true);
CREATE POLICY members ON grader.grades FOR SELECT TO grader_member USING (true);
CREATE POLICY owner ON grader.removals TO CURRENT_USER USING (true);
CREATE POLICY owner ON grader.error_issues TO CURRENT_USER USING (true);
CREATE POLICY owner ON grader.labels TO CURRENT_USER USING (true);
