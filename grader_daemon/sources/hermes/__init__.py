"""Hermes Agent: the database of its sessions, and the JSON snapshots that it writes of them."""
