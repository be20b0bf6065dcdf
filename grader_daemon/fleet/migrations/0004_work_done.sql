-- What another session is told of one: what it was asked for in all its words, how it ended, what it checked and edited.
ALTER TABLE grader.grades
    ADD COLUMN request_words text CHECK (octet_length(request_words) <= 8192),
    ADD COLUMN answer_beginning text CHECK (octet_length(answer_beginning) <= 8192),
    ADD COLUMN last_check text CHECK (octet_length(last_check) <= 8192),
    ADD COLUMN edited_paths text CHECK (octet_length(edited_paths) <= 8192);
GRANT INSERT (request_words, answer_beginning, last_check, edited_paths),
    UPDATE (request_words, answer_beginning, last_check, edited_paths) ON grader.grades TO grader_host;
