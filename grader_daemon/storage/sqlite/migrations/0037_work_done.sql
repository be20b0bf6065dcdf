-- What another session is told of one: what it was asked for in all its words, how it ended, what it checked and edited.
ALTER TABLE session_details ADD COLUMN request_words TEXT;     -- of the first request, each once, redacted
ALTER TABLE session_details ADD COLUMN answer_beginning TEXT;  -- the first 200 characters, redacted
ALTER TABLE session_details ADD COLUMN last_check TEXT;        -- the last test run that passed
ALTER TABLE session_details ADD COLUMN edited_paths TEXT;      -- a line each, the last one first
