"""The long-running process: notices changes, waits until they are quiet, grades, and finds missed sessions."""
