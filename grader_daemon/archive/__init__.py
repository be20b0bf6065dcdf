"""Grading of old sessions in folders, compressed files or object storage, on all cores of one machine or a cluster."""
