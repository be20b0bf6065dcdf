-- Whose sessions are listed, and who had them begun: a session whose file does not say is taken for a person's.
ALTER TABLE session_list ADD COLUMN agent TEXT;
ALTER TABLE session_list ADD COLUMN kind TEXT NOT NULL DEFAULT 'main';
DELETE FROM daily_rollups;  -- sums and list are made anew when the database is opened
