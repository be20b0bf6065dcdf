-- A session of the future stands on top of nothing: an hour behind when it was graded.
UPDATE session_list SET ended_at = strftime('%Y-%m-%dT%H:%M:%S+00:00', g.graded_at, '+1 hour')
FROM session_grades AS g
WHERE g.id = session_list.id AND session_list.ended_at > g.graded_at
    AND session_list.ended_at > strftime('%Y-%m-%dT%H:%M:%S+00:00', g.graded_at, '+1 hour');
