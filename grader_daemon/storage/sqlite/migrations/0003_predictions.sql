-- Sums of predictions and of verdicts. Both tables are emptied, so that they are counted anew from the grades.
ALTER TABLE daily_rollups ADD COLUMN predicted_millionths INTEGER NOT NULL DEFAULT 0; -- of probabilities
ALTER TABLE daily_rollups ADD COLUMN done INTEGER NOT NULL DEFAULT 0;
ALTER TABLE daily_rollups ADD COLUMN not_done INTEGER NOT NULL DEFAULT 0;
ALTER TABLE monthly_rollups ADD COLUMN predicted_millionths INTEGER NOT NULL DEFAULT 0;
ALTER TABLE monthly_rollups ADD COLUMN done INTEGER NOT NULL DEFAULT 0;
ALTER TABLE monthly_rollups ADD COLUMN not_done INTEGER NOT NULL DEFAULT 0;
DELETE FROM daily_rollups;
DELETE FROM monthly_rollups;
