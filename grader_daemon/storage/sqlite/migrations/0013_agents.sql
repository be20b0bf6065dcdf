-- Whose session it is, what it cost, and what a person took back. NULL is what nobody knows, which is not 0.
ALTER TABLE session_details ADD COLUMN agent TEXT;
ALTER TABLE session_details ADD COLUMN agent_version TEXT;
ALTER TABLE session_details ADD COLUMN kind TEXT;              -- main | sub_agent | cron | review; mostly a person's
ALTER TABLE session_details ADD COLUMN parent TEXT;            -- the session that had it begun, or that it goes on from
ALTER TABLE session_details ADD COLUMN input_tokens INTEGER;
ALTER TABLE session_details ADD COLUMN cache_read_tokens INTEGER;
ALTER TABLE session_details ADD COLUMN cache_write_tokens INTEGER;
ALTER TABLE session_details ADD COLUMN output_tokens INTEGER;
ALTER TABLE session_details ADD COLUMN reasoning_tokens INTEGER;
ALTER TABLE session_details ADD COLUMN cost_usd REAL;
ALTER TABLE session_details ADD COLUMN cost_by TEXT;           -- agent | the list of prices and its version
ALTER TABLE session_details ADD COLUMN undone INTEGER NOT NULL DEFAULT 0;
UPDATE session_details SET agent = 'hermes' WHERE format = 'hermes';
UPDATE session_details SET kind = CASE platform WHEN 'cron' THEN 'cron' WHEN 'subagent' THEN 'sub_agent' END
FROM session_grades
WHERE session_grades.session_id = session_details.session_id AND platform IN ('cron', 'subagent')
    AND format = 'hermes';
CREATE INDEX session_details_parent ON session_details (parent) WHERE parent IS NOT NULL;
