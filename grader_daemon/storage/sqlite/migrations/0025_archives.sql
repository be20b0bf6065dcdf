-- Which objects of archives are graded, by a digest of name and version: an interrupted backfill goes on behind them.
CREATE TABLE archive_objects (digest INTEGER PRIMARY KEY);
