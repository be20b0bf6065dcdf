-- The installed package that read a session, with its version, where it is none of this program.
ALTER TABLE grader.grades
    ADD COLUMN adapter text CHECK (octet_length(adapter) <= 600);
GRANT INSERT (adapter), UPDATE (adapter) ON grader.grades TO grader_host;
