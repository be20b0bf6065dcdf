"""The choice of a model for each type of task, and the file in which routers find it."""
