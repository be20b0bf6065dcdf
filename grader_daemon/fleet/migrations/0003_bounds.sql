-- No value of a host or a member is trusted: each column that they write is bounded, moments of arrival are the
-- server's, and nobody but the owner has a right by which a table can be locked. What is there already and does not fit
-- is cut, unknown, or, where its key does not fit, removed.
ALTER TABLE grader.hosts ADD COLUMN clock_ahead double precision;  -- seconds by which its clock is ahead
ALTER TABLE grader.labels ADD COLUMN said_on_host boolean NOT NULL DEFAULT false;
UPDATE grader.labels SET said_on_host = true WHERE taken_at - kept_at BETWEEN interval '0' AND interval '1 ms';

DO $do$
DECLARE
    bounded text;
    checks text;
    fits text;
    keys text;
    mended text;
BEGIN
    FOREACH bounded IN ARRAY ARRAY['hosts', 'grades', 'removals', 'error_issues', 'labels'] LOOP
        WITH columns AS (
            SELECT a.attname::text AS name, a.atttypid::regtype::text AS type, a.attnotnull AS is_needed,
                CASE
                    WHEN a.attname IN ('tool_calls_efficient', 'response_quality', 'automatic_quality', 'quality')
                        THEN '%1$I BETWEEN 1 AND 5'
                    WHEN a.attname = 'p_completed' THEN '%1$I BETWEEN 0 AND 1'
                    WHEN a.attname = 'request' THEN NULL  -- a hash: any number is one
                    WHEN a.attname = 'clock_ahead' THEN '%1$I BETWEEN -1e12 AND 1e12'
                    WHEN a.attname LIKE '%seq' OR a.attname IN ('epoch', 'labels_sent', 'id')
                        THEN '%1$I BETWEEN 0 AND 9007199254740992'
                    WHEN a.attname IN ('session_id', 'fingerprint') THEN 'octet_length(%1$I) BETWEEN 1 AND 2000'
                    WHEN a.atttypid IN ('text'::regtype, 'bytea'::regtype) THEN 'octet_length(%1$I) <= 8192'
                    WHEN a.atttypid IN ('bigint'::regtype, 'integer'::regtype) THEN '%1$I BETWEEN 0 AND 1000000000000'
                    WHEN a.atttypid = 'double precision'::regtype THEN '%1$I BETWEEN 0 AND 1e12'
                    WHEN a.atttypid IN ('timestamptz'::regtype, 'date'::regtype)
                        THEN '%1$I >= ''1970-01-01'' AND %1$I < ''2200-01-01'''
                    WHEN a.atttypid = 'jsonb'::regtype
                        THEN 'jsonb_typeof(%1$I) = ''array'' AND octet_length(%1$I::text) <= 2097152'
                END AS bound
            FROM pg_attribute AS a
            WHERE a.attrelid = ('grader.' || bounded)::regclass AND a.attnum > 0 AND NOT a.attisdropped
        ), told AS (
            SELECT *, format(bound, name) AS said FROM columns WHERE bound IS NOT NULL
        )
        SELECT
            string_agg(format('ADD CONSTRAINT %I CHECK (%s)', bounded || '_' || name || '_bound', said), ', '),
            string_agg(format('coalesce(%s, true)', said), ' AND '),
            string_agg(format('coalesce(%s, true)', said), ' AND ') FILTER (WHERE is_needed),
            string_agg(
                format(
                    CASE WHEN type = 'text' THEN '%1$I = CASE WHEN %2$s THEN %1$I ELSE left(%1$I, 2000) END'
                        ELSE '%1$I = CASE WHEN %2$s THEN %1$I END' END,
                    name, said
                ),
                ', '
            ) FILTER (WHERE NOT is_needed)
        INTO checks, fits, keys, mended FROM told;
        IF bounded = 'hosts' THEN  -- with which all of a host would go
            UPDATE grader.hosts SET last_seq = 0, newest_seq = 0, epoch = 0, labels_sent = 0
                WHERE NOT (last_seq BETWEEN 0 AND 9007199254740992 AND newest_seq BETWEEN 0 AND 9007199254740992
                    AND epoch BETWEEN 0 AND 9007199254740992 AND labels_sent BETWEEN 0 AND 9007199254740992);
        ELSE
            EXECUTE format('DELETE FROM grader.%I WHERE NOT (%s)', bounded, keys);
        END IF;
        IF mended IS NOT NULL THEN
            EXECUTE format('UPDATE grader.%I SET %s WHERE NOT (%s)', bounded, mended, fits);
        END IF;
        EXECUTE format('ALTER TABLE grader.%I %s', bounded, checks);
    END LOOP;
END
$do$;
UPDATE grader.fleet SET decisions = NULL
    WHERE jsonb_typeof(decisions) <> 'object' OR octet_length(decisions::text) > 67108864;
UPDATE grader.fleet SET decisions_version = 0 WHERE decisions_version NOT BETWEEN 0 AND 9007199254740992;
ALTER TABLE grader.fleet ADD CONSTRAINT fleet_decisions_bound
    CHECK (jsonb_typeof(decisions) = 'object' AND octet_length(decisions::text) <= 67108864);

-- Who raises the alerts of the fleet and writes its reports: whoever is first, while they say that they are there.
CREATE TABLE grader.watch (
    id int PRIMARY KEY DEFAULT 1 CHECK (id = 1),
    leader uuid,
    member text,
    seen_at timestamptz,
    worked_at timestamptz
);
INSERT INTO grader.watch DEFAULT VALUES;
GRANT SELECT ON grader.watch TO grader_reader, grader_member;

CREATE FUNCTION grader.lead(who uuid) RETURNS boolean LANGUAGE plpgsql SECURITY DEFINER
    SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    UPDATE grader.watch SET leader = who, seen_at = clock_timestamp(),
        member = substr(session_user, length('grader_member_') + 1)
        WHERE leader IS NULL OR leader = who OR seen_at < clock_timestamp() - interval '30 seconds';
    RETURN FOUND;
END
$$;
CREATE FUNCTION grader.note_work(who uuid) RETURNS void LANGUAGE sql SECURITY DEFINER
    SET search_path = pg_catalog, pg_temp AS $$
    UPDATE grader.watch SET worked_at = clock_timestamp(), seen_at = clock_timestamp() WHERE leader = who;
$$;
CREATE FUNCTION grader.stop_leading(who uuid) RETURNS void LANGUAGE sql SECURITY DEFINER
    SET search_path = pg_catalog, pg_temp AS $$
    UPDATE grader.watch SET leader = NULL WHERE leader = who;
$$;

-- What a host removes: whoever may do that on a table may also lock it.
CREATE FUNCTION grader.remove_sessions(names text[], everything boolean, seq bigint) RETURNS void LANGUAGE sql
    SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    DELETE FROM grader.grades WHERE host = substr(session_user, length('grader_host_') + 1)
        AND (everything OR session_id = ANY(names));
    DELETE FROM grader.removals WHERE host = substr(session_user, length('grader_host_') + 1)
        AND (everything OR session_id = ANY(names));
    INSERT INTO grader.removals (host, session_id, changed_seq)
        SELECT DISTINCT substr(session_user, length('grader_host_') + 1), name, seq FROM unnest(names) AS given (name);
$$;
CREATE FUNCTION grader.have_sessions(names text[]) RETURNS void LANGUAGE sql
    SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    DELETE FROM grader.removals WHERE host = substr(session_user, length('grader_host_') + 1)
        AND session_id = ANY(names);
$$;
REVOKE EXECUTE ON FUNCTION grader.lead, grader.note_work, grader.stop_leading, grader.remove_sessions,
    grader.have_sessions FROM PUBLIC;
GRANT EXECUTE ON FUNCTION grader.lead, grader.note_work, grader.stop_leading TO grader_member;
GRANT EXECUTE ON FUNCTION grader.remove_sessions, grader.have_sessions TO grader_host;

REVOKE INSERT, UPDATE, DELETE ON grader.grades, grader.removals, grader.error_issues, grader.labels FROM grader_host;
REVOKE UPDATE (last_seen) ON grader.hosts FROM grader_host;
REVOKE UPDATE (decisions_version) ON grader.fleet FROM grader_member;
GRANT UPDATE (clock_ahead) ON grader.hosts TO grader_host;
GRANT INSERT (host, session_id, given_by, given_at, completed, quality, note, withdraws, withdraws_by),
    UPDATE (taken_at) ON grader.labels TO grader_host;
GRANT INSERT (host, fingerprint, tool, command, category, subcategory, signal, example),
    UPDATE (subcategory, signal, example) ON grader.error_issues TO grader_host;
DO $do$
DECLARE
    written text;
BEGIN
    SELECT string_agg(quote_ident(attname), ', ') INTO written FROM pg_attribute
        WHERE attrelid = 'grader.grades'::regclass AND attnum > 0 AND NOT attisdropped
            AND attname NOT IN ('host', 'session_id', 'received_at');
    EXECUTE format('GRANT INSERT (host, session_id, %s), UPDATE (%s) ON grader.grades TO grader_host', written, written);
END
$do$;

-- Moments of arrival, and what was said on which side, are by the server.
CREATE FUNCTION grader.is_host() RETURNS boolean LANGUAGE sql STABLE SET search_path = pg_catalog
    AS $$ SELECT starts_with(session_user::text, 'grader_host_') $$;
CREATE FUNCTION grader.stamp_host() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog AS $$
BEGIN
    IF NEW.other_machine_at IS DISTINCT FROM OLD.other_machine_at THEN
        NEW.other_machine_at = CASE WHEN NEW.other_machine_at IS NOT NULL THEN now() END;
    ELSIF grader.is_host() THEN
        NEW.last_seen = now();
    END IF;
    RETURN NEW;
END
$$;
CREATE FUNCTION grader.stamp_grade() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog AS $$
BEGIN
    NEW.received_at = now();
    RETURN NEW;
END
$$;
CREATE FUNCTION grader.stamp_label() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog AS $$
BEGIN
    IF grader.is_host() THEN
        NEW.taken_at = clock_timestamp();
        NEW.said_on_host = CASE WHEN TG_OP = 'INSERT' THEN true ELSE OLD.said_on_host END;
    END IF;
    RETURN NEW;
END
$$;
CREATE FUNCTION grader.number_decisions() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog AS $$
BEGIN
    NEW.decisions_version = OLD.decisions_version + 1;
    RETURN NEW;
END
$$;
CREATE TRIGGER stamp BEFORE UPDATE ON grader.hosts FOR EACH ROW EXECUTE FUNCTION grader.stamp_host();
CREATE TRIGGER stamp BEFORE INSERT OR UPDATE ON grader.grades FOR EACH ROW EXECUTE FUNCTION grader.stamp_grade();
CREATE TRIGGER stamp BEFORE INSERT OR UPDATE ON grader.labels FOR EACH ROW EXECUTE FUNCTION grader.stamp_label();
CREATE TRIGGER number BEFORE UPDATE OF decisions ON grader.fleet
    FOR EACH ROW EXECUTE FUNCTION grader.number_decisions();
