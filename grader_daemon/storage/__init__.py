"""The only SQL: one database file for grades, details, failures and the ledger of files."""

from grader_daemon.storage.sqlite import DaemonStatus, GradeFilter, NewGrade, Store

__all__ = ["DaemonStatus", "GradeFilter", "NewGrade", "Store"]
