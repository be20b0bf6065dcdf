-- The scheduled job that a session is a run of, and the beginning of what that is told to do.
ALTER TABLE grader.grades
    ADD COLUMN job text CHECK (octet_length(job) <= 300),
    ADD COLUMN job_name text CHECK (octet_length(job_name) <= 400);
GRANT INSERT (job, job_name), UPDATE (job, job_name) ON grader.grades TO grader_host;
