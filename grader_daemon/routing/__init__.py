"""Which model to prefer for which type of task, and the file in which routers find it."""
