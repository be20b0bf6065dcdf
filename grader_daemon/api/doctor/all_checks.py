"""All checks, in the order in which one may be the cause of the next."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING

from grader_daemon import bootstrap
from grader_daemon.api.doctor import agent_checks, daemon_checks, database_checks, session_checks, setup_checks
from grader_daemon.api.doctor.check_words import EARLIER, reason
from grader_daemon.api.doctor.doctor_context import DoctorContext
from grader_daemon.domain.check import Check, Finding, unknown
from grader_daemon.domain.unit import shown_path
from grader_daemon.errors import ConfigurationError, GraderError, StoreError, StoreOutdatedError
from grader_daemon.wings import checks

if TYPE_CHECKING:
    from grader_daemon.settings import Settings

_OF_WINGS = checks()

CHECKS: Mapping[str, Callable[[DoctorContext], Finding]] = MappingProxyType(
    {
        "settings": setup_checks.settings,
        "rules": setup_checks.rules,
        "clock": setup_checks.clock,
        "time zone": setup_checks.time_zone,
        "sqlite": setup_checks.sqlite,
        "database": database_checks.database,
        "database place": database_checks.database_place,
        "integrity": database_checks.integrity,
        "privacy": database_checks.privacy,
        "write-ahead log": database_checks.write_ahead_log,
        "sums": database_checks.sums,
        "ledger": database_checks.ledger,
        "grader": database_checks.grader,
        "other programs": database_checks.other_programs,
        "former copies": database_checks.copies,
        "disk space": database_checks.disk_space,
        "folders": session_checks.folders,
        "file systems": session_checks.file_systems,
        "inotify": session_checks.inotify,
        "agents": agent_checks.agents,
        "agent databases": agent_checks.readable,
        "agent versions": agent_checks.versions,
        "retention": agent_checks.retention,
        "newest sessions": agent_checks.growth,
        "skills": _OF_WINGS["skills"],
        "last session": session_checks.last_session,
        "dead files": session_checks.dead_files,
        "daemon": daemon_checks.daemon,
        "service": daemon_checks.service,
        **_OF_WINGS,
    }
)
"""What is checked, by name; names are part of the JSON document."""


def examine(read_settings: Callable[[], Settings], *, clock: bootstrap.Clock, full: bool = True) -> list[Check]:
    """Make all checks of the set-up that these settings describe. Changes nothing and raises nothing of ours.

    Unless `full`, of a large database a sample is checked.
    """
    return list(examine_each(read_settings, clock=clock, full=full))


def examine_each(
    read_settings: Callable[[], Settings], *, clock: bootstrap.Clock, full: bool = True
) -> Iterator[Check]:
    """Yield the same, each check when it is made."""
    with DoctorContext(read_settings, now=clock(), full=full) as context:
        for name, check in CHECKS.items():
            yield _named(name, _made(check, context))


def _made(check: Callable[[DoctorContext], Finding], context: DoctorContext) -> Finding:
    try:
        return check(context)
    except ConfigurationError:
        return unknown("not checked: the settings are wrong")
    except StoreOutdatedError:
        return unknown(EARLIER)
    except StoreError as error:
        return unknown(f"the database cannot be read: {reason(error, context.database)}")
    except GraderError as error:
        return unknown(str(error))
    except OSError as error:
        return unknown(f"{error.filename or 'the system'}: {error.strerror or error}")


def _named(name: str, finding: Finding) -> Check:
    fix = None if finding.fix is None else _utf8(finding.fix)
    return Check(name, finding.state, _utf8(finding.found), fix)


def _utf8(text: str) -> str:
    """Return text that JSON can hold: file names may be of any bytes."""
    return shown_path(text)
