-- Sessions in which people objected, or that were asked for again, are few of many: a report counts them without a look at
-- all sessions of its week.
CREATE INDEX session_details_people ON session_details (ended_at) WHERE people <> '[]';
CREATE INDEX session_details_asked_again ON session_details (ended_at) WHERE asked_again IS NOT NULL;
