-- When the daemon first started: what ended before is history, and opens no alert. NULL: before that was noted.
ALTER TABLE alert_position ADD COLUMN watched_from TEXT;
