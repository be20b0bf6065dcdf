-- What hosts send: `grades` has the columns of `export`, `hosts` how far each is. Row-level security is forced, so that
-- a host meets its own rows alone, and the owner of the tables no others than by the policy that names it.
CREATE TABLE grader.hosts (
    host text PRIMARY KEY,
    added_at timestamptz NOT NULL DEFAULT now(),
    machine text,
    version text,
    last_seq bigint NOT NULL DEFAULT 0,
    newest_seq bigint NOT NULL DEFAULT 0,
    last_seen timestamptz,
    other_machine_at timestamptz
);

CREATE TABLE grader.grades (
    host text NOT NULL REFERENCES grader.hosts ON DELETE CASCADE,
    id bigint,
    session_id text NOT NULL,
    session_file text,
    graded_at timestamptz,
    task_completed boolean,
    tool_calls_efficient bigint,
    response_quality bigint,
    errors_recovered boolean,
    total_api_calls bigint,
    model text,
    platform text,
    session_start timestamptz,
    duration_seconds double precision,
    task_summary text,
    total_errors bigint,
    error_types jsonb,
    tools_with_errors jsonb,
    had_repeated_errors boolean,
    had_infinite_loop_risk boolean,
    had_user_clarification boolean,
    state text,
    task_type text,
    format text,
    tool_calls bigint,
    failures jsonb,
    reasons jsonb,
    rules_version text,
    p_completed double precision,
    verdict_by text,
    rules_completed boolean,
    automatic_completed boolean,
    automatic_by text,
    automatic_quality bigint,
    claims jsonb,
    signals_from_people jsonb,
    asked_again text,
    project text,
    scored boolean,
    unsure boolean,
    agent text,
    agent_version text,
    kind text,
    parent text,
    input_tokens bigint,
    cache_read_tokens bigint,
    cache_write_tokens bigint,
    output_tokens bigint,
    reasoning_tokens bigint,
    cost_usd double precision,
    cost_by text,
    undone bigint,
    system_prompt_digest text,
    tools_digest text,
    skills jsonb,
    early_errors integer,
    ended_at timestamptz,
    ended_on date,
    error_rate double precision,
    had_user_refusal boolean,
    had_user_interruption boolean,
    state_reason text,
    tools jsonb,
    outcome text,
    verdict text,
    score double precision,
    changed_seq bigint NOT NULL,
    received_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (host, session_id)
);

CREATE INDEX grades_ended_at ON grader.grades (ended_at);

GRANT USAGE ON SCHEMA grader TO grader_host, grader_reader;
GRANT SELECT ON grader.schema_versions TO grader_host, grader_reader;
GRANT SELECT ON grader.hosts, grader.grades TO grader_host, grader_reader;
GRANT INSERT, UPDATE, DELETE ON grader.grades TO grader_host;
GRANT UPDATE (machine, version, last_seq, newest_seq, last_seen, other_machine_at) ON grader.hosts TO grader_host;

ALTER TABLE grader.hosts ENABLE ROW LEVEL SECURITY;
ALTER TABLE grader.hosts FORCE ROW LEVEL SECURITY;
ALTER TABLE grader.grades ENABLE ROW LEVEL SECURITY;
ALTER TABLE grader.grades FORCE ROW LEVEL SECURITY;

CREATE POLICY own ON grader.hosts TO grader_host USING (host = substr(current_user, length('grader_host_') + 1));
CREATE POLICY own ON grader.grades TO grader_host USING (host = substr(current_user, length('grader_host_') + 1));
CREATE POLICY reading ON grader.hosts FOR SELECT TO grader_reader USING (true);
CREATE POLICY reading ON grader.grades FOR SELECT TO grader_reader USING (true);
CREATE POLICY owner ON grader.hosts TO CURRENT_USER USING (true);
CREATE POLICY owner ON grader.grades TO CURRENT_USER USING (true);
