-- The installed package, with its version, that read a session of a source which is none of this program; else NULL.
ALTER TABLE session_details ADD COLUMN adapter TEXT;
