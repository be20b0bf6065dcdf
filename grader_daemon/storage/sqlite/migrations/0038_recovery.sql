-- The word that the message of a failure names where others of its error issue name others, redacted; NULL where none.
ALTER TABLE session_failures ADD COLUMN named TEXT;
-- Of the tries after failures, how many of these failures were got over.
ALTER TABLE issue_steps ADD COLUMN recovered INTEGER NOT NULL DEFAULT 0;
ALTER TABLE daily_steps ADD COLUMN recovered INTEGER NOT NULL DEFAULT 0;
ALTER TABLE monthly_steps ADD COLUMN recovered INTEGER NOT NULL DEFAULT 0;
DELETE FROM daily_rollups;  -- sums and list are made anew when the database is opened
DELETE FROM monthly_rollups;
