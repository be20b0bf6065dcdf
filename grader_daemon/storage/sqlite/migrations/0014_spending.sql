-- What sessions used and cost, of every kind; all other numbers are from now on of the tasks of a person, but in groups of
-- dimension 'kind'. Sums and list are made anew when the database is opened.
ALTER TABLE daily_rollups ADD COLUMN side INTEGER NOT NULL DEFAULT 0;                   -- finished sessions, no tasks of a person
ALTER TABLE daily_rollups ADD COLUMN input_tokens INTEGER NOT NULL DEFAULT 0;
ALTER TABLE daily_rollups ADD COLUMN cache_read_tokens INTEGER NOT NULL DEFAULT 0;
ALTER TABLE daily_rollups ADD COLUMN cache_write_tokens INTEGER NOT NULL DEFAULT 0;
ALTER TABLE daily_rollups ADD COLUMN output_tokens INTEGER NOT NULL DEFAULT 0;
ALTER TABLE daily_rollups ADD COLUMN metered INTEGER NOT NULL DEFAULT 0;                -- sessions of which the tokens are known
ALTER TABLE daily_rollups ADD COLUMN cost_millionths INTEGER NOT NULL DEFAULT 0;        -- of a US dollar
ALTER TABLE daily_rollups ADD COLUMN priced INTEGER NOT NULL DEFAULT 0;                 -- sessions of which the cost is known
ALTER TABLE daily_rollups ADD COLUMN side_millionths INTEGER NOT NULL DEFAULT 0;        -- the part of side
ALTER TABLE daily_rollups ADD COLUMN priced_completed INTEGER NOT NULL DEFAULT 0;       -- completed tasks of which the cost is known
ALTER TABLE monthly_rollups ADD COLUMN side INTEGER NOT NULL DEFAULT 0;
ALTER TABLE monthly_rollups ADD COLUMN input_tokens INTEGER NOT NULL DEFAULT 0;
ALTER TABLE monthly_rollups ADD COLUMN cache_read_tokens INTEGER NOT NULL DEFAULT 0;
ALTER TABLE monthly_rollups ADD COLUMN cache_write_tokens INTEGER NOT NULL DEFAULT 0;
ALTER TABLE monthly_rollups ADD COLUMN output_tokens INTEGER NOT NULL DEFAULT 0;
ALTER TABLE monthly_rollups ADD COLUMN metered INTEGER NOT NULL DEFAULT 0;
ALTER TABLE monthly_rollups ADD COLUMN cost_millionths INTEGER NOT NULL DEFAULT 0;
ALTER TABLE monthly_rollups ADD COLUMN priced INTEGER NOT NULL DEFAULT 0;
ALTER TABLE monthly_rollups ADD COLUMN side_millionths INTEGER NOT NULL DEFAULT 0;
ALTER TABLE monthly_rollups ADD COLUMN priced_completed INTEGER NOT NULL DEFAULT 0;
ALTER TABLE session_list ADD COLUMN cost_usd REAL;
DELETE FROM daily_rollups;

-- Failures count for error issues where they have an end. Open sessions have none, and neither have, from now on, those that
-- are no task of a person.
UPDATE session_failures SET ended_at = NULL
WHERE session_id IN (SELECT session_id FROM session_details WHERE kind <> 'main');
