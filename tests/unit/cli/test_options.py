from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import click
import pytest
from click.testing import CliRunner

from grader_daemon import bootstrap
from grader_daemon.cli import output
from grader_daemon.cli.options import flags_again, settings_options
from grader_daemon.cli.times import show_times_in
from grader_daemon.pipeline.saving import save_grades
from grader_daemon.storage.sqlite.store import SqliteStore
from tests.strategies import grade, new_grade
from tests.unit.cli.conftest import Run
from tests.unit.cli.test_insight import _alert, _seed

DATABASE = ".timmy/uniwizard/session_grades.db"
AUCKLAND = "Pacific/Auckland"
NOW = datetime(2026, 11, 22, 12, tzinfo=UTC)  # 01:00 of the 23rd in Auckland, 13 hours ahead
ENDED = {
    "today": datetime(2026, 11, 22, 11, 30, tzinfo=UTC),  # 00:30 of the 23rd there
    "evening": datetime(2026, 11, 22, 10, 30, tzinfo=UTC),  # 23:30 of the 22nd there, less than two hours ago
    "before": datetime(2026, 11, 20, 12, tzinfo=UTC),
}


@pytest.fixture
def graded(home: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home with three grades, and a clock that stands still."""
    monkeypatch.setattr(bootstrap, "utc_now", lambda: NOW)
    store = SqliteStore(home / DATABASE, host="here")
    with store.transaction():
        made = [grade(session_id=name, ended_at=at, session_file=f"/s/{name}.json") for name, at in ENDED.items()]
        save_grades(store, [new_grade(each) for each in made])
    store.close()
    return home


def listed(run: Run, home: Path, *arguments: str) -> list[str]:
    ended = run(home, "list", "--json", *arguments)
    assert (ended.returncode, ended.stderr) == (0, "")
    return [each["session_id"] for each in json.loads(ended.stdout)["grades"]]


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        pytest.param(("-d", "1"), ["today"], id="one-day-is-today"),
        pytest.param(("-d", "2"), ["today", "evening"], id="two-days-are-yesterday-too"),
        pytest.param(("--since", "2h"), ["today", "evening"], id="a-span-ends-now"),
        pytest.param(("--since", "2026-11-23"), ["today"], id="a-day-begins-at-midnight-there"),
        pytest.param(("--since", "9999w"), ["today", "evening", "before"], id="as-far-as-days-go"),
        pytest.param(("--since", "0m"), [], id="a-span-of-nothing"),
    ],
)
def test_days_and_beginnings_are_those_of_the_zone(
    graded: Path, run: Run, arguments: tuple[str, ...], expected: list[str]
) -> None:
    assert listed(run, graded, "--timezone", AUCKLAND, *arguments) == expected


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        pytest.param(("-d", "1", "--since", "7d"), "not both", id="both"),
        pytest.param(("--since", "7"), "2026-11-01", id="no-unit"),
        pytest.param(("--since", "last week"), "2026-11-01", id="words"),
    ],
)
@pytest.mark.parametrize("command", ["list", "grade", "grade --again"])
def test_what_is_no_beginning_is_refused_with_examples(
    home: Path, run: Run, command: str, arguments: tuple[str, ...], words: str
) -> None:
    ended = run(home, *command.split(), *arguments)
    assert ended.returncode == 2
    assert words in ended.stderr


def test_times_are_shown_in_the_zone_that_is_set(graded: Path, run: Run) -> None:
    for arguments in (("--timezone", AUCKLAND, "list"), ("list", "--timezone", AUCKLAND)):
        heading, newest, *_ = run(graded, *arguments).stdout.splitlines()
        assert "ended NZDT" in heading
        assert "2026-11-23 00:30" in newest
    assert "2026-11-23 00:30 NZDT" in run(graded, "show", "today", "--timezone", AUCKLAND).stdout


def test_times_around_a_change_of_clocks_each_have_their_zone(capsys: pytest.CaptureFixture[str]) -> None:
    show_times_in(ZoneInfo("Europe/Berlin"))
    before = datetime(2026, 10, 25, 0, 30, tzinfo=UTC)  # clocks go back at 01:00 UTC
    output.table(("at",), [(before,), (before + timedelta(hours=1),)])
    assert capsys.readouterr().out.splitlines()[1:] == ["2026-10-25 02:30 CEST", "2026-10-25 02:30 CET"]


def test_a_flag_behind_the_command_counts_more_than_one_before_it(graded: Path, run: Run) -> None:
    ended = run(graded, "--timezone", "Asia/Tokyo", "show", "today", "--timezone", AUCKLAND)
    assert "NZDT" in ended.stdout


def test_the_file_of_settings_may_be_named_by_flag(graded: Path, run: Run) -> None:
    (graded / "mine.toml").write_text(f'timezone = "{AUCKLAND}"')
    assert "NZDT" in run(graded, "--config", "mine.toml", "list").stdout
    missing = run(graded, "list", "--config", "none.toml")
    assert missing.returncode == 2
    assert "--config names" in missing.stderr


def test_what_is_probably_not_meant_is_told_and_the_answer_given(
    graded: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TZ", "Nope/X")
    ended = run(graded, "list")
    assert ended.returncode == 0
    assert ended.stderr.count("\n") == 1
    assert "warning: environment TZ=Nope/X names no zone" in ended.stderr
    assert run(graded, "list", "--timezone", "UTC").stderr == ""


@pytest.mark.parametrize(("zone", "opened"), [("Asia/Tokyo", "23 November 2026, 00:10 JST"), ("UTC", "15:10 UTC")])
def test_times_in_sentences_are_in_that_zone_too(home: Path, run: Run, zone: str, opened: str) -> None:
    opened_at = datetime(2026, 11, 22, 15, 10, tzinfo=UTC)
    _seed(home, _alert(opened_at=opened_at))
    assert opened in run(home, "alerts", "show", "1", "--timezone", zone).stdout


@pytest.mark.parametrize(
    "arguments",
    [
        pytest.param(("list", "-n"), id="sessions"),
        pytest.param(("report", "errors", "list", "-n"), id="errors"),
        pytest.param(("list", "-d"), id="days"),
        pytest.param(("alerts", "show"), id="a-number-of-an-alert"),
    ],
)
def test_numbers_that_nothing_can_hold_are_refused_in_a_line(
    graded: Path, run: Run, arguments: tuple[str, ...]
) -> None:
    ended = run(graded, *arguments, "9" * 20)
    assert (ended.returncode, ended.stdout, ended.stderr.count("\n")) == (2, "", 1)
    assert "give at most 1,000,000,000" in ended.stderr


@pytest.mark.parametrize("command", [["list"], ["report", "errors"]], ids=" ".join)
def test_the_largest_numbers_are_answered(graded: Path, run: Run, command: list[str]) -> None:
    assert run(graded, *command, "-n", "1000000000", "-d", "1000000000").returncode == 0


def test_a_folder_in_the_place_of_the_database_is_called_one(home: Path, run: Run) -> None:
    ended = run(home, "list", "--db-path", str(home))
    assert (ended.returncode, ended.stdout) == (2, "")
    assert "it is a folder" in ended.stderr


@pytest.mark.parametrize(
    ("options", "says"),
    [
        pytest.param(["list", "-n", "0"], "'--limit': 0 is too small; give 1 or more; see", id="too-small"),
        pytest.param(
            ["label", "s", "--quality", "0"], "'--quality': 0 is too small; give 1 to 5; see", id="of-a-scale"
        ),
        pytest.param(
            ["label", "s", "--quality", "6"], "'--quality': 6 is too large; give at most 5; see", id="too-large"
        ),
        pytest.param(["list", "-n", "ten"], "'ten' is not a valid whole number", id="no-number"),
    ],
)
def test_a_number_beyond_its_range_is_refused_with_what_can_be_given(
    home: Path, run: Run, options: list[str], says: str
) -> None:
    ended = run(home, *options)
    assert (ended.returncode, says in ended.stderr) == (2, True)


def test_flags_can_be_given_to_another_command_again() -> None:
    @click.command()
    @settings_options
    def command() -> None:
        click.echo(" ".join(flags_again()))

    given = ["--watch-root", "/a", "--config", "/c.toml", "--watch-root", "/b c", "--db-path", "/d.db"]

    said = CliRunner().invoke(command, given).output
    assert said == "--config /c.toml --db-path /d.db --watch-root /a --watch-root /b c\n"
    assert CliRunner().invoke(command, []).output == "\n"
