-- What changed in how agents are set up next to the beginning of an alert.
ALTER TABLE alerts ADD COLUMN setup_change TEXT;  -- JSON
