"""Keeping the database file: backup, restore, inspection, repair, and the swap of one file for another."""
