"""Ways out for grades: scores to other programs, tables in files, and metrics for Prometheus."""
