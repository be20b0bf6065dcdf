-- When the kernel last saw a file change (stat(2), st_ctime): unlike its modification time, no program can set it.
-- 0 for files seen before this was kept: they are read once more, and their grades stay.
ALTER TABLE session_files ADD COLUMN ctime_ns INTEGER NOT NULL DEFAULT 0;
