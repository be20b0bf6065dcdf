-- How a finished session ended, and how its result stands by the record; NULL in grades of earlier versions.
ALTER TABLE session_details ADD COLUMN ending TEXT;
ALTER TABLE session_details ADD COLUMN standing TEXT;
ALTER TABLE session_list ADD COLUMN ending TEXT;
ALTER TABLE session_list ADD COLUMN standing TEXT;

-- Sessions are groups by both now: all sums are made anew from the grades.
DELETE FROM daily_rollups;
DELETE FROM monthly_rollups;
