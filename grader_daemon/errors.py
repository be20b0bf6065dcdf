"""Exceptions of this package, under one root: faults in the program or in its use.

What went wrong *inside a graded session* is data (`domain.analysis.Failure`) and never one of these.

::

    GraderError
    ├── ConfigurationError      a setting or a rule is wrong
    ├── InputError              what a caller gave cannot be used: it does not fit, or is ambiguous
    │   └── NotFoundError       there is nothing of this name or number
    │       └── NoDatabaseError     there is no database yet, or not at this path
    ├── OutputError             what is to be told cannot be printed, or written to its file
    ├── UngradableError         a file that was to be graded has no grade of its own
    ├── ReadError               a session file cannot be read (worth another try)
    │   ├── VanishedFileError   it is gone
    │   └── ChangingFileError   it was written to while it was read
    ├── ParseError              a session file cannot be understood
    │   └── UnfinishedFileError it may be in the middle of being written (worth another try)
    ├── CallError               a program or a server outside did not do what it was called for
    ├── DeliveryError           a receiver of alerts could not be told (worth another try)
    ├── ScorerError             a scorer of quality says nothing of use about this session
    │   └── ScorerUnavailableError  it cannot be asked now, whatever the session (worth another try in minutes)
    │       └── ScorerBusyError     it may answer in seconds
    ├── RequestError            a client of the MCP server sent what cannot be answered
    ├── ServiceError            the service manager is missing, or did not do what it was asked
    ├── UnstorableError         the database does not take a value (a bug of ours: the others of a batch go on)
    └── StoreError              the database cannot be used
        ├── StoreBusyError      another program holds it (worth another try)
        ├── StoreFullError      its disk is full (worth another try)
        ├── StoreDamagedError   it is damaged, or no database
        ├── StoreOutdatedError  an earlier version of the program left it, and it may only be read
        ├── StoreReplacedError  its file was deleted, moved or replaced while it was open
        └── AlreadyRunningError a second daemon on the same database
"""

from __future__ import annotations


class GraderError(Exception):
    """Base class of all exceptions that this package raises on purpose; its text is one line for a person."""


class ConfigurationError(GraderError):
    """A setting or rule is wrong; the text names it, its source, its value and the allowed values."""


class InputError(GraderError):
    """A path, id or argument of the caller does not name what it should."""


class OutputError(GraderError):
    """Standard output or a file cannot be written: its disk is full, or it fails."""


class NotFoundError(InputError):
    """Nothing has the name or number that a caller gave."""


class NoDatabaseError(NotFoundError):
    """There is no database to read: nothing was graded yet, or its path is wrong."""


class UngradableError(GraderError):
    """A file that a caller wanted graded has no grade of its own."""


class ReadError(GraderError):
    """A session file could not be read this time."""


class VanishedFileError(ReadError):
    """The file is gone, which is not an error."""


class ChangingFileError(ReadError):
    """The file changed while it was read; read it again when it no longer changes."""


class ParseError(GraderError):
    """The bytes are not a known kind of session; reading them again will not help."""


class UnfinishedFileError(ParseError):
    """The bytes end too early, or are damaged as during a write; reading them later may help."""


class DeliveryError(GraderError):
    """A message did not reach its receiver."""


class CallError(GraderError):
    """A call to the outside failed; the text says why, without anything that was sent or came back."""


class ScorerError(GraderError):
    """An external scorer returned no usable answer; asking again about this session is of no use."""


class ScorerUnavailableError(ScorerError):
    """A scorer cannot be reached, refuses access, or answers in an unknown format."""


class ScorerBusyError(ScorerUnavailableError):
    """A scorer has too much to do, or a connection broke."""


class RequestError(GraderError):
    """A message of an MCP client is none, or asks for what there is not."""

    def __init__(self, text: str, *, code: int, data: object = None) -> None:
        """`code` is that of JSON-RPC or of the protocol, `data` what a program may want to know beside it."""
        super().__init__(text)
        self.code = code
        self.data = data


class ServiceError(GraderError):
    """There is no service manager for this user, or it did not do what it was asked."""


class UnstorableError(GraderError):
    """The database works, and does not take this row."""


class StoreError(GraderError):
    """The database cannot be opened or used."""


class StoreBusyError(StoreError):
    """The database is locked by another program."""


class StoreFullError(StoreError):
    """The disk of the database is full."""


class StoreDamagedError(StoreError):
    """The database is damaged, or is none."""


class StoreOutdatedError(StoreError):
    """The database is of an earlier version; what only reads leaves it as it is."""


class StoreReplacedError(StoreError):
    """The file at the database's path is not the one that was opened."""


class AlreadyRunningError(StoreError):
    """Another daemon holds the lock of this database."""
