"""The store in memory: for tests, and for what is to leave nothing behind. Sorted and counted when it is asked for."""
