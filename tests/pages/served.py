"""Homes of sample sessions, and the command that serves their pages, as tests and the pictures of pages need them."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final

from grader_daemon.bootstrap.periodic import make_reports
from grader_daemon.domain.alert import Decomposition, DropCause, ShareChange, StreamDrop
from grader_daemon.domain.estimate import Estimate
from grader_daemon.domain.installed import InstalledKind, ObservedVersion
from grader_daemon.domain.rollup import Dimension
from grader_daemon.settings import load_settings
from grader_daemon.skills.store import ObservedVersions
from grader_daemon.storage.records import GradeFilter
from grader_daemon.storage.sqlite.store import SqliteStore
from tests.alert_examples import OVERALL, alert
from tests.demo_home import DATABASE
from tests.needs import stopped_clock
from tests.pictures import SampleHome

AT: Final = datetime(2026, 11, 9, 8, tzinfo=UTC)
"""When the page is looked at: the morning after the last of the sample weeks."""

_EDITED_AT: Final = AT - timedelta(days=1, hours=22)


@dataclass(frozen=True, slots=True)
class Served:
    """A page that is served: its home folder, where it is, and the address that lets one in."""

    home: Path
    base: str
    entrance: str

    @property
    def token(self) -> str:
        return self.entrance.partition("token=")[2]


@contextmanager
def serve(home: Path, *, at: datetime = AT) -> Iterator[Served]:
    """Serve the page of a home with the settings of its own, which must end well when it is asked to."""
    command = [sys.executable, "-m", "grader_daemon", "dashboard", "--port", "0"]
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("GRADER_")}
    environment = {**inherited, "HOME": str(home), "TZ": "UTC", **stopped_clock(at)}
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        entrance = re.fullmatch(r"Open (http://\S+)\n", process.stdout.readline())
        assert entrance is not None, "the page did not say where it is"
        try:
            yield Served(home, entrance[1].partition("/?")[0], entrance[1])
        finally:
            process.terminate()
            ended = process.wait(10)
        assert ended == 0


def make_sample_home(home: Path) -> None:
    """Fill a home with eight weeks of sample sessions, graded, with an edit of a skill, reports and an alert."""
    SampleHome(home, at=AT)
    keep_an_edit_of_a_skill(home)
    keep_reports_and_an_alert(home)


def keep_an_edit_of_a_skill(home: Path) -> None:
    """Note a skill and that it was edited, as a daemon that ran all the time would have."""
    seen = [_version("5f", AT - timedelta(weeks=8), AT - timedelta(days=2)), _version("4e", _EDITED_AT, AT)]
    with closing(SqliteStore(home / DATABASE)) as store, store.transaction():
        ObservedVersions(store).save(seen)


def _version(digest: str, first_seen: datetime, last_seen: datetime) -> ObservedVersion:
    return ObservedVersion(
        kind=InstalledKind.SKILL,
        name="deploy",
        agent="hermes",
        path="/home/you/.hermes/skills/deploy/SKILL.md",
        digest=digest * 16,
        bytes=1024,
        written_at=first_seen,
        first_seen=first_seen,
        last_seen=last_seen,
    )


def keep_reports_and_an_alert(home: Path) -> None:
    """Keep the reports of the weeks that are over, and open an alert, as a daemon that ran all the time would have."""
    store = SqliteStore(home / DATABASE)
    began, opened = AT - timedelta(days=5), AT - timedelta(days=2)
    drop = StreamDrop(
        stream=OVERALL,
        before=Estimate(value=0.15, low=0.11, high=0.21, sample=220),
        since=Estimate(value=0.32, low=0.23, high=0.43, sample=76),
        began_at=began,
    )
    worst = store.grades.page(GradeFilter(completed=False, since=began, limit=5))
    opened_alert = alert(
        drops=(drop,),
        opened_at=opened,
        began_at=began,
        sessions=tuple(each.grade.session_id for each in worst.grades),
        changes=(ShareChange(dimension=Dimension.PLATFORM, name="cli", before=0.68, since=0.71),),
        decomposition=Decomposition(mix=0.02, work=0.14, mix_margin=0.03, work_margin=0.08, cause=DropCause.WORK),
    )
    with store.transaction():
        store.alerts.add(opened_alert)
    reports = make_reports(load_settings(db_path=home / DATABASE, timezone="UTC", verdict="auto"), store)
    for week in reports.missing(AT):
        reports.write(week, AT)
    store.close()
