-- 0: neither an answer nor a tool call, so that the four scores of session_grades say nothing.
ALTER TABLE session_details ADD COLUMN scored INTEGER NOT NULL DEFAULT 1;
ALTER TABLE session_details ADD COLUMN unsure INTEGER NOT NULL DEFAULT 0;  -- the automatic verdict may as well be wrong
UPDATE session_details SET scored = 0
WHERE tool_calls = 0 AND (
    features = '[[],""]' OR EXISTS (
        SELECT 1 FROM session_grades AS g WHERE g.session_id = session_details.session_id AND g.total_api_calls = 0
    )
);
ALTER TABLE session_list ADD COLUMN unsure INTEGER NOT NULL DEFAULT 0;  -- unless a person decided

-- Finished sessions without an answer or a tool call, and those of them on whose completion a person has a word.
ALTER TABLE daily_rollups ADD COLUMN unanswered INTEGER NOT NULL DEFAULT 0;
ALTER TABLE daily_rollups ADD COLUMN unanswered_judged INTEGER NOT NULL DEFAULT 0;
ALTER TABLE monthly_rollups ADD COLUMN unanswered INTEGER NOT NULL DEFAULT 0;
ALTER TABLE monthly_rollups ADD COLUMN unanswered_judged INTEGER NOT NULL DEFAULT 0;
DELETE FROM daily_rollups;  -- sums and list are made anew when the database is opened
