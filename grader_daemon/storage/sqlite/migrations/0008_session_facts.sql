-- Sums of what the record of sessions shows, and of priced tasks. Both tables are emptied, so that they are counted anew
-- from the grades.
ALTER TABLE daily_rollups RENAME COLUMN priced_completed TO priced_tasks;
ALTER TABLE daily_rollups ADD COLUMN recorded INTEGER NOT NULL DEFAULT 0; -- sessions whose end and result are known
ALTER TABLE daily_rollups ADD COLUMN ended_badly INTEGER NOT NULL DEFAULT 0;
ALTER TABLE daily_rollups ADD COLUMN contradicted INTEGER NOT NULL DEFAULT 0;
ALTER TABLE daily_rollups ADD COLUMN check_failed INTEGER NOT NULL DEFAULT 0;
ALTER TABLE daily_rollups ADD COLUMN admitted INTEGER NOT NULL DEFAULT 0;
ALTER TABLE daily_rollups ADD COLUMN cut_short INTEGER NOT NULL DEFAULT 0;
ALTER TABLE daily_rollups ADD COLUMN gave_up INTEGER NOT NULL DEFAULT 0;
ALTER TABLE daily_rollups ADD COLUMN left_midway INTEGER NOT NULL DEFAULT 0;
ALTER TABLE monthly_rollups RENAME COLUMN priced_completed TO priced_tasks;
ALTER TABLE monthly_rollups ADD COLUMN recorded INTEGER NOT NULL DEFAULT 0;
ALTER TABLE monthly_rollups ADD COLUMN ended_badly INTEGER NOT NULL DEFAULT 0;
ALTER TABLE monthly_rollups ADD COLUMN contradicted INTEGER NOT NULL DEFAULT 0;
ALTER TABLE monthly_rollups ADD COLUMN check_failed INTEGER NOT NULL DEFAULT 0;
ALTER TABLE monthly_rollups ADD COLUMN admitted INTEGER NOT NULL DEFAULT 0;
ALTER TABLE monthly_rollups ADD COLUMN cut_short INTEGER NOT NULL DEFAULT 0;
ALTER TABLE monthly_rollups ADD COLUMN gave_up INTEGER NOT NULL DEFAULT 0;
ALTER TABLE monthly_rollups ADD COLUMN left_midway INTEGER NOT NULL DEFAULT 0;
DELETE FROM daily_rollups;
DELETE FROM monthly_rollups;

-- The watch follows how sessions end, no more the best guess of what got done: its alerts are over.
DELETE FROM alert_streams WHERE metric = 'completion_rate';
UPDATE alerts SET resolved_at = strftime('%Y-%m-%dT%H:%M:%S+00:00', 'now')
    WHERE resolved_at IS NULL AND kind = 'degradation' AND drops LIKE '[{"stream":{"metric":"completion_rate"%';
