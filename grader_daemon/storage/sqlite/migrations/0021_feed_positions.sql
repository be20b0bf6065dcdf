-- How far each follower of the change feed has read that keeps its place here.
CREATE TABLE feed_positions (
    follower TEXT PRIMARY KEY,
    seq INTEGER NOT NULL
) WITHOUT ROWID;
