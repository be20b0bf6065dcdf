-- When the daemon last had compared all folders, and which sources failed it how often, as JSON.
ALTER TABLE daemon_status ADD COLUMN compared_at TEXT;
ALTER TABLE daemon_status ADD COLUMN failures TEXT NOT NULL DEFAULT '{}';
ALTER TABLE daemon_status ADD COLUMN failing TEXT NOT NULL DEFAULT '[]';
