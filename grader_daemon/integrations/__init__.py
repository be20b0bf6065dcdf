"""Integrations with other programs, and with the service manager."""
