-- When a skill or configuration file was noticed to be gone; NULL while it lies there, and where another version followed.
ALTER TABLE observed_versions ADD COLUMN gone_at TEXT;
