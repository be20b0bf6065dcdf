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
from random import Random
from typing import Final

from grader_daemon.bootstrap.periodic import make_reports
from grader_daemon.domain.alert import Decomposition, DropCause, ShareChange, StreamDrop
from grader_daemon.domain.estimate import Estimate
from grader_daemon.domain.grade import Grade
from grader_daemon.domain.installed import InstalledKind, ObservedVersion
from grader_daemon.domain.rollup import Dimension
from grader_daemon.domain.session import SessionKind
from grader_daemon.domain.session_result import EndingKind, ResultStanding
from grader_daemon.pipeline.saving import save_grades
from grader_daemon.settings import load_settings
from grader_daemon.skills.store import ObservedVersions
from grader_daemon.storage.records import GradeFilter
from grader_daemon.storage.sqlite.store import SqliteStore
from tests.alert_examples import OVERALL, alert
from tests.demo_home import DATABASE
from tests.needs import stopped_clock
from tests.pictures import SampleHome
from tests.strategies import grade, new_grade

AT: Final = datetime(2026, 11, 9, 8, tzinfo=UTC)
"""When the page is looked at: the morning after the last of the sample weeks."""

_PRICED_MODELS: Final = (
    *(("claude-sonnet-4-5", 3.0), ("claude-opus-4-5", 5.0), ("claude-haiku-4-5", 1.0)),
    *(("gpt-5.2", 1.75), ("gpt-5.2-mini", 0.25), ("gemini-3-pro", 2.0), ("gemini-3-flash", 0.5), ("grok-4", 3.0)),
)
"""Models, each with the dollars that a million tokens of input take, one after the other."""
_PRICED_TASKS: Final = ("Fix the date parser", "Deploy the release", "Write the notes", "Look up the latest version")

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


def make_priced_home(home: Path) -> None:
    """Fill a home with grades of 70 days whose tokens are known, and those of an agent that does not write any."""
    drawn = Random(5)
    made = [_priced(drawn, days, number) for days in range(70) if days % 7 not in (1, 2) for number in range(6)]
    (home / DATABASE).parent.mkdir(parents=True)
    with closing(SqliteStore(home / DATABASE)) as store, store.transaction():
        save_grades(store, [new_grade(each) for each in made])


def _priced(drawn: Random, days: int, number: int) -> Grade:
    """Draw a session that ended so many days ago; the first of a day is of an agent without tokens."""
    ended = AT - timedelta(days=days, hours=1, minutes=10 * number)
    model, usd_per_million = drawn.choice(_PRICED_MODELS)
    fresh, cached, written = (drawn.randrange(1, most) * 1000 for most in (80, 900, 40))
    spent = {
        "input_tokens": fresh,
        "cache_read_tokens": cached,
        "output_tokens": written,
        "cost_usd": usd_per_million * (fresh + cached / 10 + 5 * written) / 1e6,
        "cost_by": "genai-prices",
    }
    failed = drawn.random() < 0.25
    return grade(
        session_id=f"priced_{days:02}_{number}",
        session_file=f"/s/priced_{days:02}_{number}.json",
        session_start=ended - timedelta(minutes=9),
        ended_at=ended,
        ended_on=f"{ended:%Y-%m-%d}",
        graded_at=ended + timedelta(minutes=1),
        model=model if number else "hermes-4-14b",
        agent="claude-code" if number else "hermes",
        project=f"/home/you/work/{drawn.choice(('billing', 'intranet', 'shop'))}" if number else None,
        kind=(SessionKind.CRON if number == 1 else SessionKind.MAIN),
        task_summary=f"{drawn.choice(_PRICED_TASKS)} ({days} days ago)",
        task_type=drawn.choice(("debugging", "deployment", "writing_code")),
        ending=EndingKind.ANSWERED,
        standing=ResultStanding.CHECK_FAILED if failed else ResultStanding.CHECKED,
        task_completed=not failed,
        **(spent if number else {}),
    )
