-- Sessions are found by the finer kinds of their errors, too.
INSERT OR IGNORE INTO session_facets
SELECT 'error', f.subcategory, g.id FROM session_grades AS g
JOIN session_failures AS f ON f.session_id = g.session_id WHERE f.kind <> 'probe' AND f.subcategory IS NOT NULL;
