-- Interrupted sessions, in which nothing was finished: those of them that have a verdict, and how many of all sessions
-- without scores count as completed.
ALTER TABLE daily_rollups ADD COLUMN interrupted INTEGER NOT NULL DEFAULT 0;
ALTER TABLE daily_rollups ADD COLUMN interrupted_judged INTEGER NOT NULL DEFAULT 0;
ALTER TABLE daily_rollups ADD COLUMN unscored_completed INTEGER NOT NULL DEFAULT 0;
ALTER TABLE monthly_rollups ADD COLUMN interrupted INTEGER NOT NULL DEFAULT 0;
ALTER TABLE monthly_rollups ADD COLUMN interrupted_judged INTEGER NOT NULL DEFAULT 0;
ALTER TABLE monthly_rollups ADD COLUMN unscored_completed INTEGER NOT NULL DEFAULT 0;
DELETE FROM daily_rollups;  -- sums and list are made anew when the database is opened
DELETE FROM monthly_rollups;
