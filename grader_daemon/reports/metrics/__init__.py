"""Sums as metrics, in the two text formats that Prometheus reads."""
