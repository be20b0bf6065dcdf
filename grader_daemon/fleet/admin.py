"""A team's PostgreSQL: sending grades there, and what its administrator does."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlencode

import msgspec

from grader_daemon import bootstrap
from grader_daemon._version import __version__
from grader_daemon.api.context import GraderContext
from grader_daemon.api.documents import grade_document
from grader_daemon.api.tables import columns
from grader_daemon.domain.session_features import NO_FEATURES
from grader_daemon.errors import ConfigurationError, InputError
from grader_daemon.fleet.copy_settings import needing_psycopg, read_url
from grader_daemon.integrations.machine import machine_id
from grader_daemon.setting_types import is_fleet_name
from grader_daemon.settings import Settings
from grader_daemon.storage.records import StoredGrade

if TYPE_CHECKING:
    from grader_daemon.domain.calibration import Trust
    from grader_daemon.fleet.push_job import FleetPush
    from grader_daemon.fleet.server_admin import FleetDatabase, FleetLogin


_OF_THE_TABLE = tuple(name for name in columns() if name != "host")
"""What is sent of a grade as tables have it; the host is who sends."""
_COLUMNS = (*_OF_THE_TABLE, "request", "wording")
_TEXTS = (
    *("session_file", "project", "task_summary", "job_name"),
    *("request_words", "answer_beginning", "last_check", "edited_paths"),
)
"""Words of a session, and paths, which name people."""


def fleet_push(context: GraderContext, *, take_over: bool = False) -> FleetPush:
    """Return what sends grades to the fleet; to `take_over` makes this machine the host, whichever was before.

    Raises:
        ConfigurationError: nobody said where to, or psycopg is not installed.
        NoDatabaseError: nothing was graded yet.
        DeliveryError, CallError, StoreError: the fleet's database cannot be used.
    """
    settings, store = context.settings, context.writable
    url = fleet_url(settings)
    with needing_psycopg():
        from grader_daemon.fleet.push_job import FleetPush
        from grader_daemon.fleet.server_writes import HostRows

    rows = HostRows(url, columns=_COLUMNS, machine=_identity(settings), version=__version__, clock=bootstrap.utc_now)
    if take_over:
        rows.take_over()
    return FleetPush(
        store,
        rows,
        documents=partial(_documents, trust=partial(bootstrap.read_trust, settings, store), texts=settings.fleet_texts),
        texts=settings.fleet_texts,
    )


def fleet_database(url: str) -> FleetDatabase:
    """Connect to the fleet's database as its administrator.

    Raises:
        ConfigurationError: the URL cannot be understood, or psycopg is not installed.
        DeliveryError: nobody answers, or does not let us in.
    """
    with needing_psycopg():
        from grader_daemon.fleet.server_admin import FleetDatabase

    return FleetDatabase(url)


def fleet_url(settings: Settings) -> str:
    """Return where the fleet's database is.

    Raises:
        ConfigurationError: nobody said where.
    """
    if settings.fleet_url is None:
        raise ConfigurationError(
            "setting fleet_url is missing: the fleet's administrator creates it with grader-daemon fleet add-host NAME"
        )
    return settings.fleet_url.get_secret_value()


def fleet_files(settings: Settings) -> tuple[Path, ...]:
    """Return the files of this person that are read to get to the fleet, there or not.

    Raises:
        ConfigurationError: nobody said where the fleet is, or psycopg is not installed.
    """
    return _files_for(fleet_url(settings))


def read_files(settings: Settings) -> tuple[Path, ...]:
    """Return the files of this person that are read to look at the fleet, there or not.

    Raises:
        ConfigurationError: nobody said where the fleet is, or psycopg is not installed.
    """
    return _files_for(read_url(settings))


def _files_for(url: str) -> tuple[Path, ...]:
    with needing_psycopg():
        from grader_daemon.fleet.client_files import client_files

    return client_files(url, home=Path(os.path.expanduser("~")))


def checked_name(name: str) -> str:
    """Return the name of a host, or of a person, if it can be one.

    Raises:
        InputError: it cannot.
    """
    if not is_fleet_name(name):
        raise InputError(f"{name!r} is not a valid name: use up to 40 characters of a-z, 0-9, - and _")
    return name


def configuration_line(login: FleetLogin, *, setting: str) -> str:
    """Return the line of a settings file by which a host, or a person, gets in."""
    is_socket = login.server.startswith("/")
    where = "" if is_socket else f"{_bracketed(login.server)}:{login.port}"
    query = f"?{urlencode({'host': login.server, 'port': login.port})}" if is_socket else ""
    credentials = f"{quote(login.role, safe='')}:{quote(login.password, safe='')}"
    return f'{setting} = "postgresql://{credentials}@{where}/{quote(login.database, safe="")}{query}"'


def _bracketed(host: str) -> str:
    return f"[{host}]" if ":" in host else host


def _identity(settings: Settings) -> str:
    """Return who we are, as the fleet is told: one database of one machine, also after a reboot or from a backup."""
    own = f"grader-daemon fleet\0{machine_id()}\0{settings.db_path.resolve()}"
    return hashlib.sha256(own.encode("utf-8", "surrogateescape")).hexdigest()[:32]


def _documents(stored: list[StoredGrade], *, trust: Any, texts: bool) -> list[Mapping[str, Any]]:
    now: Trust = trust()
    documents = (_document(each, now) for each in stored)
    return [document if texts else _without_texts(document) for document in documents]


def _document(stored: StoredGrade, trust: Trust) -> dict[str, Any]:
    """Return what is sent of a grade; of failures all, by which a copy counts them as this database does."""
    grade = msgspec.structs.replace(stored.grade, features=NO_FEATURES)  # which would be most of what is built
    document = grade_document(grade, stored.id, trust=trust)
    document["failures"] = msgspec.to_builtins(grade.failures)
    return {**{name: document[name] for name in _OF_THE_TABLE}, "request": grade.request, "wording": grade.wording}


def _without_texts(document: dict[str, Any]) -> dict[str, Any]:
    """Return a document without what it has of the words of a session, and without paths, which name people."""
    claims = [{**claim, "subject": None, "words": None} for claim in document["claims"]]
    return {**document, **dict.fromkeys(_TEXTS), "claims": claims}
