"""Insight from many grades. Pure: sums and counts in, insight out."""
