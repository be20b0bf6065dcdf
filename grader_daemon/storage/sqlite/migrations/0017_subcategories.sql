-- The finer kind of a failure, below its category; NULL where there is none.
ALTER TABLE session_failures ADD COLUMN subcategory TEXT;
ALTER TABLE error_issues ADD COLUMN subcategory TEXT;
