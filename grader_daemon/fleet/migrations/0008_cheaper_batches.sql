-- What the server does for each row that a host sends, and for each session that it removes. A new row has the moment of
-- its arrival by default, since no host may give another; a session is found by its key, not among all of the host's.
DROP TRIGGER stamp ON grader.grades;
CREATE OR REPLACE FUNCTION grader.stamp_grade() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    NEW.received_at = pg_catalog.now();
    RETURN NEW;
END
$$;
CREATE TRIGGER stamp BEFORE UPDATE ON grader.grades FOR EACH ROW EXECUTE FUNCTION grader.stamp_grade();

CREATE OR REPLACE FUNCTION grader.remove_sessions(names text[], everything boolean, seq bigint) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    own text = substr(session_user, length('grader_host_') + 1);
BEGIN
    IF everything THEN
        DELETE FROM grader.grades WHERE host = own;
        DELETE FROM grader.removals WHERE host = own;
    ELSE
        DELETE FROM grader.grades WHERE host = own AND session_id = ANY(names);
        DELETE FROM grader.removals WHERE host = own AND session_id = ANY(names);
    END IF;
    INSERT INTO grader.removals (host, session_id, changed_seq)
        SELECT DISTINCT own, name, seq FROM unnest(names) AS given (name);
END
$$;
