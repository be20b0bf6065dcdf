"""Old sessions, in folders, packed files or object storage: graded on all cores, of one machine or a cluster."""
