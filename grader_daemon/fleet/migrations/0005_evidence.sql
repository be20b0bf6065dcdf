-- How a finished session ended, and how its result stands by the record.
ALTER TABLE grader.grades
    ADD COLUMN ending text CHECK (octet_length(ending) <= 40),
    ADD COLUMN standing text CHECK (octet_length(standing) <= 40);
GRANT INSERT (ending, standing), UPDATE (ending, standing) ON grader.grades TO grader_host;
