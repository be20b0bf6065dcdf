-- What became of the work in a word (reverted, gone, rewritten, kept), the number of its commits, and how many days
-- after the session its lines were counted last. What is still followed is looked at again at once.
ALTER TABLE session_outcomes ADD COLUMN became TEXT;
ALTER TABLE session_outcomes ADD COLUMN commits INTEGER NOT NULL DEFAULT 0;
ALTER TABLE session_outcomes ADD COLUMN counted_days INTEGER;
CREATE INDEX session_outcomes_became ON session_outcomes (became, ended_at) WHERE became IS NOT NULL;
UPDATE session_outcomes SET due_at = ended_at WHERE due_at IS NOT NULL;
