-- Sessions of people by what their answers claim and how the record supports it, by the day on which they ended, and by
-- month: `against` counts those with a claim that is contradicted, stale or partial.
CREATE TABLE daily_claims (
    day TEXT NOT NULL,
    kind TEXT NOT NULL,
    model TEXT NOT NULL,
    sessions INTEGER NOT NULL,
    verified INTEGER NOT NULL,
    unsupported INTEGER NOT NULL,
    contradicted INTEGER NOT NULL,
    stale INTEGER NOT NULL,
    partial INTEGER NOT NULL,
    against INTEGER NOT NULL,
    PRIMARY KEY (day, kind, model)
) WITHOUT ROWID;
CREATE TABLE monthly_claims (
    month TEXT NOT NULL,
    kind TEXT NOT NULL,
    model TEXT NOT NULL,
    sessions INTEGER NOT NULL,
    verified INTEGER NOT NULL,
    unsupported INTEGER NOT NULL,
    contradicted INTEGER NOT NULL,
    stale INTEGER NOT NULL,
    partial INTEGER NOT NULL,
    against INTEGER NOT NULL,
    PRIMARY KEY (month, kind, model)
) WITHOUT ROWID;

INSERT INTO daily_claims
SELECT day, kind, model, count(*), sum(verified), sum(unsupported), sum(contradicted), sum(stale), sum(partial),
    sum(contradicted OR stale OR partial)
FROM (
    SELECT
        coalesce(d.ended_on, date(d.ended_at), date(g.graded_at), '1970-01-01') AS day,
        c.value ->> 'kind' AS kind,
        iif(length(g.model) > 120, substr(g.model, 1, 120), coalesce(nullif(g.model, ''), 'unknown')) AS model,
        max(c.value ->> 'support' = 'verified') AS verified,
        max(c.value ->> 'support' = 'unsupported') AS unsupported,
        max(c.value ->> 'support' = 'contradicted') AS contradicted,
        max(c.value ->> 'support' = 'stale') AS stale,
        max(c.value ->> 'support' = 'partial') AS partial
    FROM session_details AS d
    JOIN session_grades AS g ON g.session_id = d.session_id
    JOIN json_each(iif(json_valid(d.claims), d.claims, '[]')) AS c
    WHERE d.claims <> '[]' AND d.state <> 'open' AND coalesce(d.kind, 'main') = 'main'
    GROUP BY d.session_id, c.value ->> 'kind'
)
GROUP BY day, kind, model;
INSERT INTO monthly_claims
SELECT substr(day, 1, 7), kind, model, sum(sessions), sum(verified), sum(unsupported), sum(contradicted), sum(stale),
    sum(partial), sum(against)
FROM daily_claims GROUP BY 1, 2, 3;
