-- What each machine counts of its sessions on each day: of all, and by kind, task type, model and agent. The machine sends
-- a whole day when something changed there, in the transaction of its rows; `summed_days` has which state of it is here.
-- They answer who has no copy of the rows yet.
CREATE TABLE grader.summed_days (
    host text NOT NULL REFERENCES grader.hosts ON DELETE CASCADE,
    day date NOT NULL CHECK (day >= '1970-01-01' AND day < '2200-01-01'),
    revision bigint NOT NULL CHECK (revision BETWEEN 0 AND 9007199254740992),
    PRIMARY KEY (host, day)
);
CREATE TABLE grader.daily_sums (
    host text NOT NULL REFERENCES grader.hosts ON DELETE CASCADE,
    day date NOT NULL CHECK (day >= '1970-01-01' AND day < '2200-01-01'),
    dimension text NOT NULL CHECK (dimension IN ('overall', 'kind', 'task_type', 'model', 'agent')),
    name text NOT NULL CHECK (octet_length(name) <= 480),
    sessions bigint NOT NULL DEFAULT 0, open_sessions bigint NOT NULL DEFAULT 0, unanswered bigint NOT NULL DEFAULT
    0, unanswered_judged bigint NOT NULL DEFAULT 0, interrupted bigint NOT NULL DEFAULT 0, interrupted_judged bigint
    NOT NULL DEFAULT 0, unscored_completed bigint NOT NULL DEFAULT 0, completed bigint NOT NULL DEFAULT 0,
    with_errors bigint NOT NULL DEFAULT 0, recovered bigint NOT NULL DEFAULT 0, efficiency bigint NOT NULL DEFAULT
    0, efficiency_squares bigint NOT NULL DEFAULT 0, quality bigint NOT NULL DEFAULT 0, quality_squares bigint NOT
    NULL DEFAULT 0, score_squares bigint NOT NULL DEFAULT 0, predicted_millionths bigint NOT NULL DEFAULT 0, done
    bigint NOT NULL DEFAULT 0, not_done bigint NOT NULL DEFAULT 0, recorded bigint NOT NULL DEFAULT 0, ended_badly
    bigint NOT NULL DEFAULT 0, contradicted bigint NOT NULL DEFAULT 0, check_failed bigint NOT NULL DEFAULT 0,
    admitted bigint NOT NULL DEFAULT 0, cut_short bigint NOT NULL DEFAULT 0, gave_up bigint NOT NULL DEFAULT 0,
    left_midway bigint NOT NULL DEFAULT 0, calls bigint NOT NULL DEFAULT 0, calls_squares bigint NOT NULL DEFAULT 0,
    failures bigint NOT NULL DEFAULT 0, failures_squares bigint NOT NULL DEFAULT 0, calls_failures bigint NOT NULL
    DEFAULT 0, side bigint NOT NULL DEFAULT 0, input_tokens bigint NOT NULL DEFAULT 0, cache_read_tokens bigint NOT
    NULL DEFAULT 0, cache_write_tokens bigint NOT NULL DEFAULT 0, output_tokens bigint NOT NULL DEFAULT 0, metered
    bigint NOT NULL DEFAULT 0, cost_millionths bigint NOT NULL DEFAULT 0, priced bigint NOT NULL DEFAULT 0,
    side_millionths bigint NOT NULL DEFAULT 0, priced_tasks bigint NOT NULL DEFAULT 0, failed bigint NOT NULL
    DEFAULT 0, failed_priced bigint NOT NULL DEFAULT 0, failed_millionths bigint NOT NULL DEFAULT 0,
    PRIMARY KEY (host, day, dimension, name)
);
CREATE INDEX daily_sums_day ON grader.daily_sums (day, dimension);
DO $do$
DECLARE
    counted text;
BEGIN
    FOR counted IN SELECT attname FROM pg_attribute
        WHERE attrelid = 'grader.daily_sums'::regclass AND atttypid = 'bigint'::regtype LOOP
        EXECUTE format('ALTER TABLE grader.daily_sums ADD CHECK (%I BETWEEN 0 AND 1000000000000000)', counted);
    END LOOP;
END
$do$;

GRANT SELECT ON grader.summed_days, grader.daily_sums TO grader_host, grader_reader, grader_member;
GRANT INSERT ON grader.daily_sums TO grader_host;
ALTER TABLE grader.summed_days ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
ALTER TABLE grader.daily_sums ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY own ON grader.summed_days TO grader_host USING (host = substr(current_user, length('grader_host_') + 1));
CREATE POLICY own ON grader.daily_sums TO grader_host USING (host = substr(current_user, length('grader_host_') + 1));
CREATE POLICY reading ON grader.summed_days FOR SELECT TO grader_reader, grader_member USING (true);
CREATE POLICY reading ON grader.daily_sums FOR SELECT TO grader_reader, grader_member USING (true);
CREATE POLICY owner ON grader.summed_days TO CURRENT_USER USING (true);
CREATE POLICY owner ON grader.daily_sums TO CURRENT_USER USING (true);

CREATE FUNCTION grader.begin_days(days date[], revisions bigint[]) RETURNS void LANGUAGE plpgsql
    SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    own text = substr(session_user, length('grader_host_') + 1);
BEGIN
    DELETE FROM grader.daily_sums WHERE host = own AND day = ANY(days);
    INSERT INTO grader.summed_days (host, day, revision) SELECT own, * FROM unnest(days, revisions)
        ON CONFLICT (host, day) DO UPDATE SET revision = excluded.revision;
END
$$;
REVOKE EXECUTE ON FUNCTION grader.begin_days FROM PUBLIC;
GRANT EXECUTE ON FUNCTION grader.begin_days TO grader_host;

CREATE OR REPLACE FUNCTION grader.remove_sessions(names text[], everything boolean, seq bigint) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    own text = substr(session_user, length('grader_host_') + 1);
BEGIN
    IF everything THEN
        DELETE FROM grader.grades WHERE host = own;
        DELETE FROM grader.removals WHERE host = own;
        DELETE FROM grader.summed_days WHERE host = own;
        DELETE FROM grader.daily_sums WHERE host = own;
    ELSE
        DELETE FROM grader.grades WHERE host = own AND session_id = ANY(names);
        DELETE FROM grader.removals WHERE host = own AND session_id = ANY(names);
    END IF;
    INSERT INTO grader.removals (host, session_id, changed_seq)
        SELECT DISTINCT own, name, seq FROM unnest(names) AS given (name);
END
$$;
