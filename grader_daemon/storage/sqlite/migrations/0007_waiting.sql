-- Since when the file waits that has waited longest to be graded; NULL when none waits.
ALTER TABLE daemon_status ADD COLUMN waiting_since TEXT;
