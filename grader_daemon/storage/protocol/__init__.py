"""Small protocols of parts of the store."""
