"""Integrations with other programs."""
