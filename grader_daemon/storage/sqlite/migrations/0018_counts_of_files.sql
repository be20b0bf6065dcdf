-- Whoever adds rows of files counts them, all of a batch at once; triggers go on keeping what changes or removes rows. A
-- trigger for each row that is added made adding one three times as dear.
DROP TRIGGER session_files_added;
