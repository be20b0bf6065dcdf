-- Sessions that may be the same, and those of one request, are found by their places: however many share a key, only a few
-- rows are read.
ALTER TABLE session_details ADD COLUMN started_at TEXT;
UPDATE session_details
SET started_at = (SELECT g.session_start FROM session_grades AS g WHERE g.session_id = session_details.session_id)
WHERE conversation IS NOT NULL;

DROP INDEX session_details_lineage;
CREATE INDEX session_details_chain ON session_details (lineage, opening, updated_at, messages, session_id)
    WHERE lineage IS NOT NULL;
CREATE INDEX session_details_summaries ON session_details (lineage, opening, updated_at, messages, session_id)
    WHERE lineage IS NOT NULL AND compacted;

DROP INDEX session_details_conversation;
CREATE INDEX session_details_ends ON session_details (conversation, updated_at, started_at)
    WHERE conversation IS NOT NULL;
CREATE INDEX session_details_starts ON session_details (conversation, started_at) WHERE conversation IS NOT NULL;

DROP INDEX session_details_request;
CREATE INDEX session_details_request ON session_details (request, ended_at, session_id) WHERE request IS NOT NULL;
