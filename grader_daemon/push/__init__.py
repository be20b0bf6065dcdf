"""Exports of grades: scores for other programs, tables in files, and metrics for Prometheus."""
