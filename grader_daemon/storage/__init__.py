"""The only SQL: one database file for grades, details, failures and the ledger of files."""

from grader_daemon.storage.listing import GradeFilter, PageKey, SortKey
from grader_daemon.storage.sqlite import DaemonStatus, NewGrade, Page, Store

__all__ = ["DaemonStatus", "GradeFilter", "NewGrade", "Page", "PageKey", "SortKey", "Store"]
