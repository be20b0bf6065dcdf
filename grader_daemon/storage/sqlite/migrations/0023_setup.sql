-- How the agent of a session was set up, to see when that changed.
ALTER TABLE session_details ADD COLUMN system_prompt_digest TEXT;
ALTER TABLE session_details ADD COLUMN tools_digest TEXT;
ALTER TABLE session_list ADD COLUMN agent_version TEXT;
ALTER TABLE session_list ADD COLUMN system_prompt_digest TEXT;
ALTER TABLE session_list ADD COLUMN tools_digest TEXT;
UPDATE session_list SET agent_version = (SELECT d.agent_version FROM session_details AS d
                                         WHERE d.session_id = session_list.session_id);
