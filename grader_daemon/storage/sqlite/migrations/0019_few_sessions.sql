-- What people ask for and few sessions are, or have: each index holds those alone, and costs nothing for all others.
CREATE INDEX session_list_open ON session_list (ended_at, session_id) WHERE state = 'open';
CREATE INDEX session_list_judged ON session_list (ended_at, session_id) WHERE verdict_by = 'person';
CREATE INDEX session_list_contradicted ON session_list (ended_at, session_id) WHERE contradicted > 0;
CREATE INDEX session_list_cost ON session_list (cost_usd, ended_at, session_id) WHERE cost_usd IS NOT NULL;
