-- What a person says of how many tasks get done, before labels tell; the last row stands.
CREATE TABLE level_guesses (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    given_at TEXT NOT NULL,
    rate REAL                                  -- 0 to 1; none: the guess before is taken back
);
