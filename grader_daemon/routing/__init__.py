"""Recommendation of a model for each task type, and the file that routers read."""
