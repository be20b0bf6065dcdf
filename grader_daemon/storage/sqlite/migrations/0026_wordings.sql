-- How the request of a session is worded, to find nearly the same one in other sessions. Four parts of it stand in
-- session_facets.
ALTER TABLE session_details ADD COLUMN wording BLOB;
