-- Errors among the results of the first ten tool calls; NULL where fewer were made, or an older version graded.
ALTER TABLE session_details ADD COLUMN early_errors INTEGER;
ALTER TABLE session_list ADD COLUMN early_errors INTEGER;
