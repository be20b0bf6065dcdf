"""Hermes Agent: its homes, and the JSON snapshots that it writes of its sessions."""
