"""What a host `evil` of a fleet may try on another one, `victim`: PostgreSQL must refuse the right to each."""

from __future__ import annotations

from typing import Final

ATTACKS: Final = {
    "insert": "INSERT INTO grader.grades (host, session_id, changed_seq) VALUES ('victim', 'x', 1)",
    "move-own-rows": "UPDATE grader.grades SET host = 'victim'",
    "remove": "INSERT INTO grader.removals (host, session_id, changed_seq) VALUES ('victim', 's1', 1)",
    "say-something": "INSERT INTO grader.labels (host, session_id, given_by) VALUES ('victim', 's1', 'anna')",
    "an-error": "INSERT INTO grader.error_issues (host, fingerprint, category) VALUES ('victim', 'x', 'y')",
    "put-words-into-a-mouth": "UPDATE grader.labels SET given_by = 'anna'",
    "read-what-was-decided": "SELECT decisions FROM grader.fleet",
    "a-host-of-its-own": "INSERT INTO grader.hosts (host) VALUES ('third')",
    "be-the-other": "UPDATE grader.hosts SET host = 'victim'",
    "truncate": "TRUNCATE grader.grades",
    "set-role": "SET ROLE grader_host_victim",
    "session-authorization": "SET SESSION AUTHORIZATION grader_host_victim",
    "read-as-reader": "SET ROLE grader_reader",
    "disable-security": "ALTER TABLE grader.grades DISABLE ROW LEVEL SECURITY",
    "drop-policy": "DROP POLICY own ON grader.grades",
    "security-off": "SET row_security = off; SELECT 1 FROM grader.grades",
    "shadow": "CREATE FUNCTION grader.substr(name, int) RETURNS text LANGUAGE sql RETURN 'victim'",
}
