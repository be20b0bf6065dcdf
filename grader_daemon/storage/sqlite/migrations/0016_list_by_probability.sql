-- The list by how likely the task is done, in whose order a page is read without looking through all sessions.
CREATE INDEX session_list_probability ON session_list (p_completed, ended_at, session_id) WHERE p_completed IS NOT NULL;
