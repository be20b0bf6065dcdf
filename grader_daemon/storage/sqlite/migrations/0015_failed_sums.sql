-- Sums of the finished sessions that are not done, or ended badly and are not known to be done, and of what they cost.
-- They are counted once from the list of sessions, in each group that sums of cost are of.
ALTER TABLE daily_rollups ADD COLUMN failed INTEGER NOT NULL DEFAULT 0;
ALTER TABLE daily_rollups ADD COLUMN failed_priced INTEGER NOT NULL DEFAULT 0;
ALTER TABLE daily_rollups ADD COLUMN failed_millionths INTEGER NOT NULL DEFAULT 0;
ALTER TABLE monthly_rollups ADD COLUMN failed INTEGER NOT NULL DEFAULT 0;
ALTER TABLE monthly_rollups ADD COLUMN failed_priced INTEGER NOT NULL DEFAULT 0;
ALTER TABLE monthly_rollups ADD COLUMN failed_millionths INTEGER NOT NULL DEFAULT 0;

CREATE TEMP TABLE failed_sessions AS
SELECT
    coalesce(d.ended_on, date(d.ended_at), date(l.ended_at)) AS day,
    l.task_type, l.kind, l.job, d.fleet_host AS host, l.cost_usd,
    coalesce(nullif(l.model, ''), 'unknown') AS model, coalesce(nullif(l.platform, ''), 'unknown') AS platform,
    coalesce(nullif(l.agent, ''), 'unknown') AS agent, coalesce(nullif(l.project, ''), 'unknown') AS project,
    coalesce(l.ending, 'unknown') AS ending, coalesce(l.standing, 'unknown') AS standing,
    -- halves go to the even side, as where sums are counted
    iif(
        l.cost_usd * 1000000 - CAST(l.cost_usd * 1000000 AS INTEGER) = 0.5,
        CAST(l.cost_usd * 1000000 AS INTEGER) + CAST(l.cost_usd * 1000000 AS INTEGER) % 2,
        CAST(round(l.cost_usd * 1000000) AS INTEGER)
    ) AS spent
FROM session_list AS l LEFT JOIN session_details AS d ON d.session_id = l.session_id
WHERE l.state <> 'open' AND (
    NOT l.completed AND NOT l.unsure
    OR l.ending NOT NULL AND l.standing NOT NULL AND NOT coalesce(l.completed AND NOT l.unsure, 0) AND (
        l.ending IN ('cut_by_error', 'cut_by_limit', 'cut_by_process', 'gave_up', 'left', 'no_answer')
        OR l.standing IN ('admitted', 'check_failed', 'contradicted')
    )
);
CREATE TEMP TABLE failed_groups AS
SELECT dimension, day, iif(length(name) > 120, substr(name, 1, 120), name) AS name, count(*) AS sessions,
    count(cost_usd) AS priced, coalesce(sum(spent), 0) AS spent
FROM (
    SELECT 'overall' AS dimension, '' AS name, day, cost_usd, spent FROM failed_sessions
    UNION ALL SELECT 'task_type', task_type, day, cost_usd, spent FROM failed_sessions
    UNION ALL SELECT 'model', model, day, cost_usd, spent FROM failed_sessions
    UNION ALL SELECT 'platform', platform, day, cost_usd, spent FROM failed_sessions
    UNION ALL SELECT 'agent', agent, day, cost_usd, spent FROM failed_sessions
    UNION ALL SELECT 'ending', ending, day, cost_usd, spent FROM failed_sessions
    UNION ALL SELECT 'standing', standing, day, cost_usd, spent FROM failed_sessions
    UNION ALL SELECT 'project', iif(length(project) > 120, substr(project, -120), project), day, cost_usd, spent
        FROM failed_sessions
    UNION ALL SELECT 'task_model', task_type || ' × ' || model, day, cost_usd, spent FROM failed_sessions
    UNION ALL SELECT 'kind', kind, day, cost_usd, spent FROM failed_sessions
    UNION ALL SELECT 'job', job, day, cost_usd, spent FROM failed_sessions
    UNION ALL SELECT 'host', host, day, cost_usd, spent FROM failed_sessions
)
WHERE name NOT NULL
GROUP BY 1, 2, 3;

UPDATE daily_rollups SET failed = f.sessions, failed_priced = f.priced, failed_millionths = f.spent
FROM failed_groups AS f
WHERE daily_rollups.dimension = f.dimension AND daily_rollups.day = f.day AND daily_rollups.name = f.name;
UPDATE monthly_rollups SET failed = f.sessions, failed_priced = f.priced, failed_millionths = f.spent
FROM (
    SELECT dimension, substr(day, 1, 7) AS month, name, sum(sessions) AS sessions, sum(priced) AS priced,
        sum(spent) AS spent
    FROM failed_groups GROUP BY 1, 2, 3
) AS f
WHERE monthly_rollups.dimension = f.dimension AND monthly_rollups.month = f.month AND monthly_rollups.name = f.name;
DROP TABLE failed_groups;
DROP TABLE failed_sessions;
