-- What was tried after a failure is told by what worked and what was recovered, not by verdicts on the sessions.
ALTER TABLE issue_steps DROP COLUMN completed;
ALTER TABLE daily_steps DROP COLUMN completed;
ALTER TABLE monthly_steps DROP COLUMN completed;
