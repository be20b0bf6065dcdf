"""The only SQL: one database file for grades, details, failures and the ledger of files."""

from grader_daemon.storage.sqlite import DaemonStatus, GradeFilter, Store, Summary

__all__ = ["DaemonStatus", "GradeFilter", "Store", "Summary"]
