from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import msgspec
import pytest

from grader_daemon.cli import terminal
from grader_daemon.domain.alert import Alert, AlertKind, AlertLevel, ShareChange, Stream, StreamDrop
from grader_daemon.domain.analysis import Category, ErrorSign, Failure, Step, ToolUse
from grader_daemon.domain.calendar import day_of, week_name
from grader_daemon.domain.estimate import Estimate
from grader_daemon.domain.rollup import Dimension, Metric
from grader_daemon.domain.text import clean
from grader_daemon.pipeline.saving import save_grades
from grader_daemon.storage.sqlite.store import SqliteStore
from tests.strategies import grade, new_grade
from tests.unit.cli.conftest import Ended, Run

HOUR = timedelta(hours=1)
DAY = timedelta(days=1)
RED, REVERSED, CSI, TITLE = "\x1b[31m", "\u202e", "\x9b31m", "\x1b]0;title\x07"
HOSTILE = f"evil{RED}{REVERSED}{CSI}\r\n{TITLE}"
HARMLESS = "\N{REPLACEMENT CHARACTER}"
ISSUE = "1-aaaaaaaaaaaa"
DATABASE = Path(".timmy/uniwizard/session_grades.db")


def now() -> datetime:
    """The time of the commands."""
    return datetime.now(UTC)  # noqa: TID251  theirs is the real clock


def _alert(name: str = "terminal", **changes: object) -> Alert:
    drop = StreamDrop(
        stream=Stream(Metric.FAILURE_RATE, Dimension.TOOL, name),
        before=Estimate(value=0.1, low=0.05, high=0.15, sample=300),
        since=Estimate(value=0.6, low=0.4, high=0.8, sample=20),
        began_at=now() - DAY,
    )
    overall = msgspec.structs.replace(drop, stream=Stream(Metric.ENDED_BADLY, Dimension.OVERALL, ""))
    base = Alert(
        kind=AlertKind.DEGRADATION,
        level=AlertLevel.WARNING,
        drops=(drop, overall),
        opened_at=now() - HOUR,
        began_at=now() - DAY,
        sessions=(f"session-{name}",),
        changes=(ShareChange(dimension=Dimension.MODEL, name=name, before=0.0, since=0.5),),
    )
    return msgspec.structs.replace(base, **changes)


def _seed(home: Path, *made: Alert, database: Path = DATABASE, name: str = "terminal") -> Path:
    """A database with some alerts, and sessions that failed in a tool of this name."""
    step = Step(f"other {name}", None, worked=True)
    failure = Failure(2, name, Category.PERMISSION_DENIED, name, ISSUE, step)
    sign = ErrorSign(
        fingerprint=ISSUE,
        tool=name,
        command=name,
        category=Category.PERMISSION_DENIED,
        signal=f"says {name}",
        example=f"for example {name}",
    )
    store = SqliteStore(home / database)
    with store.transaction():
        for each in made:
            store.alerts.add(each)
        for number in range(4):
            ended_at = now() - number * timedelta(seconds=1)
            graded = grade(
                session_id=f"{number}-{name}",
                ended_at=ended_at,
                ended_on=ended_at.date().isoformat(),
                task_type=name,
                model=name,
                platform=name,
                task_summary=name,
                tools=(ToolUse(name, 3, 1),),
                tool_calls=3,
                failures=(failure,),
                total_errors=1,
            )
            save_grades(store, [msgspec.structs.replace(new_grade(graded), signs=(sign,))])
    store.close()
    return home


@pytest.fixture(scope="module")
def asked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home with an open alert, a resolved one and an error issue; tests only ask."""
    return _seed(tmp_path_factory.mktemp("asked"), _alert(), _alert(opened_at=now() - DAY, resolved_at=now()))


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home with escapes wherever a name goes."""
    alert = _alert(
        HOSTILE, note=HOSTILE, acknowledged_at=now(), kind=AlertKind.THRESHOLD, rule=HOSTILE, resolved_at=None
    )
    return _seed(tmp_path_factory.mktemp("hostile"), alert, name=HOSTILE)


def _document(ended: Ended) -> dict[str, Any]:
    document = json.loads(ended.stdout)
    assert isinstance(document, dict)
    assert document["schema_version"] == 1
    return document


def _refused(ended: Ended) -> str:
    """What was wrong, told in one line."""
    assert (ended.returncode, ended.stdout) == (2, ""), ended.stderr
    (line,) = ended.stderr.splitlines()
    assert line.startswith("grader-daemon: ")
    return line


# -- alerts --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("open_alert", "code"), [(True, 1), (False, 0), (None, 2)], ids=["open", "all-resolved", "no-database"]
)
@pytest.mark.parametrize("arguments", [["alerts", "--exit-code"], ["alerts", "list", "--exit-code"]])
def test_the_exit_code_tells_of_open_alerts(
    home: Path, arguments: list[str], open_alert: bool | None, code: int, run: Run
) -> None:
    if open_alert is not None:
        _seed(home, _alert(resolved_at=None if open_alert else now()))
    assert run(home, *arguments).returncode == code


def test_listing_alerts_is_no_finding_unless_asked(asked: Path, run: Run) -> None:
    ended = run(asked, "alerts")
    assert (ended.returncode, ended.stderr) == (0, "")
    assert ended.stdout == run(asked, "alerts", "list").stdout
    lines = ended.stdout.splitlines()
    assert lines[0].split()[:2] == ["number", "state"]
    assert [line.split()[:2] for line in lines[1:]] == [["1", "warning"], ["2", "resolved"]]
    assert "failure rate of tool terminal" in lines[1].lower() or "of tool terminal" in lines[1]


def test_without_alerts_it_says_so(home: Path, run: Run) -> None:
    _seed(home)
    ended = run(home, "alerts")
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "No alerts.\n", "")
    assert _document(run(home, "alerts", "--json"))["alerts"] == []


def test_alerts_are_documents(asked: Path, run: Run) -> None:
    listed = _document(run(asked, "alerts", "--json"))["alerts"]
    shown = _document(run(asked, "alerts", "show", "1", "--json"))["alert"]
    assert [alert["number"] for alert in listed] == [1, 2]
    assert listed[0] == shown
    read = msgspec.convert(shown, Alert)
    assert (read.kind, read.drops[0].stream.name) == (AlertKind.DEGRADATION, "terminal")


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        pytest.param(["show", "99"], "no alert 99", id="no-such-alert"),
        pytest.param(["show", "0"], "no alert 0", id="number-nought"),
        pytest.param(["show", "9223372036854775808"], "is too large; give at most 1,000,000,000", id="beyond-64-bit"),
        pytest.param(["show", "9" * 100], "is too large; give at most 1,000,000,000", id="far-too-large"),
        pytest.param(["show", "--", "-1"], "-1 is too small; give 0 or more", id="negative"),
        pytest.param(["ack", "99"], "no alert 99", id="no-such-alert-to-acknowledge"),
        pytest.param(["ack", "9" * 30], "is too large; give at most 1,000,000,000", id="far-too-large-to-acknowledge"),
        pytest.param(["silence", "99"], "no alert 99", id="no-such-alert-to-silence"),
        pytest.param(["silence", "9" * 30], "is too large; give at most 1,000,000,000", id="far-too-large-to-silence"),
        pytest.param(["show", "one"], "'one'", id="a-word"),
        pytest.param(["show", "1.5"], "'1.5'", id="a-fraction"),
        pytest.param(["show", f"1{RED}"], r"'1\x1b[31m'", id="escapes"),
        pytest.param(["show"], "NUMBER", id="no-number"),
        pytest.param(["silence", "1", "--for", "0m"], "a minute to a year", id="no-time"),
        pytest.param(["silence", "1", "--for", "367d"], "a minute to a year", id="more-than-a-year"),
        pytest.param(["silence", "1", "--for", "999999w"], "a minute to a year", id="ages"),
        pytest.param(["silence", "1", "--for", "9999999w"], "not a duration", id="more-digits-than-ages"),
        pytest.param(["silence", "1", "--for", "a while"], "not a duration", id="words"),
        pytest.param(["silence", "1", "--for", ""], "the value is empty", id="an-empty-span"),
        pytest.param(["silence", "1", "--for", "-3d"], "not a duration", id="a-negative-span"),
        pytest.param(["silence", "1", "--for", "1.5h"], "not a duration", id="a-fraction-of-a-span"),
        pytest.param(["silence", "1", "--for", "7d\n"], "not a duration", id="a-line-break"),
        pytest.param(["silence", "1", "--for", f"7d{RED}"], "not a duration", id="escapes-in-a-span"),
        pytest.param(["forget"], "forget", id="no-such-command"),
    ],
)
def test_wrong_numbers_and_spans_get_one_line(asked: Path, arguments: list[str], says: str, run: Run) -> None:
    line = _refused(run(asked, "alerts", *arguments))
    assert says in line
    assert line.isprintable()


@pytest.mark.parametrize(
    "arguments", [["--exit-code", "list"], ["--json", "list"], ["--db-path", "other.db", "list", "--json"]]
)
def test_options_before_a_subcommand_are_regarded_or_refused(asked: Path, arguments: list[str], run: Run) -> None:
    if not (asked / "other.db").exists():
        _seed(asked, database=Path("other.db"))
    ended = run(asked, "alerts", *arguments)
    if ended.returncode == 2:
        _refused(ended)
    elif "--exit-code" in arguments:
        assert ended.returncode == 1
    else:
        assert len(_document(ended)["alerts"]) == (0 if "--db-path" in arguments else 2)


def test_an_alert_is_acknowledged_with_a_note(home: Path, run: Run) -> None:
    _seed(home, _alert(), _alert(resolved_at=now()))
    said = run(home, "alerts", "ack", "1", "--note", f"I know{RED}\nof it")
    assert (said.returncode, said.stderr) == (0, "")
    assert said.stdout.startswith("Alert 1 is acknowledged. The alert resolves automatically")
    assert run(home, "alerts", "ack", "2").stdout == "Alert 2 is acknowledged.\n"
    [shown] = [each for each in _document(run(home, "alerts", "--json"))["alerts"] if each["number"] == 1]
    assert shown["note"] == f"I know{clean(RED)} of it"
    assert shown["resolved_at"] is None
    assert "warning, known" in run(home, "alerts").stdout
    lines = run(home, "alerts", "show", "1").stdout.splitlines()
    assert any(line.startswith("Note: I know") for line in lines)
    assert all(line.isprintable() for line in lines)


def test_a_second_ack_keeps_the_note(home: Path, run: Run) -> None:
    _seed(home, _alert())
    run(home, "alerts", "ack", "1", "--note", "I know")
    run(home, "alerts", "ack", "1")
    assert _document(run(home, "alerts", "show", "1", "--json"))["alert"]["note"] == "I know"


def test_a_note_that_is_no_unicode_is_no_traceback(home: Path, run: Run) -> None:
    _seed(home, _alert())
    ended = run(home, "alerts", "ack", "1", "--note", b"it is \xff")
    assert ended.returncode in (0, 2)
    assert ended.stderr.count("\n") <= 1
    assert run(home, "alerts", "show", "1").returncode == 0


@pytest.mark.parametrize("given", ["1m", "90m", "12h", "7d", "2w", "366d"])
def test_an_alert_is_silenced_for_a_time(home: Path, given: str, run: Run) -> None:
    _seed(home, _alert())
    before = now()
    ended = run(home, "alerts", "silence", "1", "--for", given)
    assert (ended.returncode, ended.stderr) == (0, "")
    assert ended.stdout.startswith("Alert 1 is silent until ")
    units = {"m": timedelta(minutes=1), "h": HOUR, "d": DAY, "w": 7 * DAY}
    span = int(given[:-1]) * units[given[-1]]
    store = SqliteStore(home / DATABASE)
    silences = store.alerts.silenced(before)
    store.close()
    assert set(silences) == {drop.stream for drop in _alert().drops}
    assert all(before + span <= until <= now() + span for until in silences.values())


def test_silences_are_shown_listed_and_taken_back(home: Path, run: Run) -> None:
    _seed(home, _alert())
    run(home, "alerts", "silence", "1", "--for", "2d")
    assert "warning, silent" in run(home, "alerts").stdout
    assert "Silent until " in run(home, "alerts", "show", "1").stdout
    assert _document(run(home, "alerts", "show", "1", "--json"))["alert"]["silent_until"] is not None
    assert "bad endings of all sessions" in run(home, "alerts", "silences").stdout
    assert len(_document(run(home, "alerts", "silences", "--json"))["silences"]) == 2
    assert run(home, "alerts", "unsilence", "1").stdout == "Alert 1 is not silent.\n"
    assert run(home, "alerts", "silences").stdout == "No alert is silenced.\n"
    assert "silent" not in run(home, "alerts").stdout


def test_an_acknowledgement_is_taken_back_and_its_note_stays(home: Path, run: Run) -> None:
    _seed(home, _alert())
    run(home, "alerts", "ack", "1", "--note", "I know")
    taken_back = _document(run(home, "alerts", "unack", "1", "--json"))["alert"]
    assert (taken_back["acknowledged_at"], taken_back["note"]) == (None, "I know")
    assert "known" not in run(home, "alerts").stdout


@pytest.mark.parametrize(("way", "back"), [("ack", "unack"), ("silence", "unsilence")])
def test_the_exit_code_heeds_what_a_person_said(home: Path, way: str, back: str, run: Run) -> None:
    _seed(home, _alert())
    run(home, "alerts", way, "1")
    assert run(home, "alerts", "--exit-code").returncode == 0
    run(home, "alerts", back, "1")
    assert run(home, "alerts", "--exit-code").returncode == 1


def _set(home: Path, *lines: str) -> None:
    file = home / ".config" / "grader-daemon" / "config.toml"
    file.parent.mkdir(parents=True)
    file.write_text("\n".join(lines))


def test_a_test_says_what_came_back_from_each_way(home: Path, run: Run) -> None:
    told = home / "told.json"
    command = json.dumps(["sh", "-c", f"cat > {told}"])
    _set(home, 'alert_webhook_url = "http://127.0.0.1:9/"', f"alert_command = {command}")  # port 9: nobody listens
    ended = run(home, "alerts", "test")
    assert ended.returncode == 1
    assert "command: arrived" in ended.stdout
    assert "webhook: webhook: " not in ended.stdout
    assert "refused" in ended.stdout
    assert json.loads(told.read_text())["event"] == "test"


def test_a_test_of_a_program_that_is_not_there_fails(home: Path, run: Run) -> None:
    _set(home, 'alert_command = ["no-such-program"]')
    ended = run(home, "alerts", "test", "--json")
    assert ended.returncode == 1
    [tried] = _document(ended)["receivers"]
    assert (tried["channel"], tried["arrived"]) == ("command", False)
    assert "no-such-program" in tried["error"]


def test_a_test_without_receivers_says_how_to_set_one(home: Path, run: Run) -> None:
    ended = run(home, "alerts", "test")
    assert (ended.returncode, "alert_webhook_url" in ended.stdout) == (0, True)


# -- error issues --------------------------------------------------------------------------------------------------


def test_error_issues_are_documents(asked: Path, run: Run) -> None:
    [listed] = _document(run(asked, "report", "errors", "list", "--json"))["issues"]
    shown = _document(run(asked, "report", "errors", "show", ISSUE, "--json"))["issue"]
    assert listed["fingerprint"] == shown["fingerprint"] == ISSUE
    assert (listed["failures"], listed["sessions"]) == (4, 4)


def test_without_a_command_error_issues_are_listed(asked: Path, run: Run) -> None:
    ended = run(asked, "report", "errors")
    assert (ended.returncode, ended.stderr) == (0, "")
    assert ended == run(asked, "report", "errors", "list")
    assert ISSUE in ended.stdout


@pytest.mark.parametrize("issue_id", [ISSUE, ISSUE[:5], "aaaa", "1", "a"])
def test_the_beginning_of_an_id_is_enough(asked: Path, issue_id: str, run: Run) -> None:
    ended = run(asked, "report", "errors", "show", issue_id)
    assert (ended.returncode, ended.stderr) == (0, "")
    assert ended.stdout.startswith(f"{ISSUE}: terminal")


@pytest.mark.parametrize(
    ("command", "issue_id"),
    [
        *(pytest.param(command, "nothing", id=f"{command}-nothing") for command in ("resolve", "ignore", "reopen")),
        pytest.param("show", "nothing", id="nothing"),
        pytest.param("show", "", id="empty"),
        pytest.param("show", "%", id="any"),
        pytest.param("show", "_", id="any-character"),
        pytest.param("show", f"1{RED}\n", id="escapes"),
        pytest.param("show", b"\xff", id="no-unicode"),
    ],
)
def test_wrong_ids_get_one_line(asked: Path, command: str, issue_id: str | bytes, run: Run) -> None:
    ended = run(asked, "report", "errors", command, issue_id)
    assert (ended.returncode, ended.stdout) == (2, "")
    assert ended.stderr.count("\n") == 1
    assert ended.stderr.rstrip("\n").isprintable()


def test_alternatives_are_a_table_and_a_document(asked: Path, run: Run) -> None:
    ended = run(asked, "report", "errors", "alternatives", "terminal", "permission_denied")
    [step] = _document(run(asked, "report", "errors", "alternatives", "terminal", "permission_denied", "--json"))[
        "alternatives"
    ]
    assert (step["tool"], step["tries"], step["worked"], step["rate"]["value"]) == ("other terminal", 4, 4, None)
    assert (ended.returncode, "too few  " in ended.stdout) == (0, True)  # of tries: nothing is said of sessions


def test_alternatives_to_what_did_not_fail_are_not_known(asked: Path, run: Run) -> None:
    ended = run(asked, "report", "errors", "alternatives", "terminal", "permission_denied", "--command", "git push")
    assert (ended.returncode, ended.stdout) == (0, "The steps after such errors are unknown.\n")


def test_alternatives_to_an_unknown_cause_name_the_known_ones(asked: Path, run: Run) -> None:
    assert "permission_denied" in run(asked, "report", "errors", "alternatives", "terminal", "magic").stderr


def test_alternatives_of_hostile_names_are_harmless(hostile: Path, run: Run) -> None:
    ended = run(hostile, "report", "errors", "alternatives", HOSTILE, "permission_denied")
    assert ended.returncode == 0
    assert all(part.isprintable() for part in ended.stdout.split("\n"))


def test_an_issue_is_shown_with_what_worked_after_others_of_its_cause(home: Path, run: Run) -> None:
    _seed(home)
    store = SqliteStore(home / DATABASE)
    _also_failed(store)
    store.close()
    shown = run(home, "report", "errors", "show", ISSUE).stdout
    assert "After any permission_denied of terminal:" in shown
    assert "read_file" in shown.partition("After any")[2]
    assert "read_file" not in shown.partition("After any")[0]


def _also_failed(store: SqliteStore) -> None:
    """Save a session in which the same tool failed for the same cause in another way, and another tool helped."""
    cause = Category.PERMISSION_DENIED
    failure = Failure(2, "terminal", cause, "curl", "1-bbb", Step("read_file", None, worked=True))
    sign = ErrorSign(fingerprint="1-bbb", tool="terminal", command="curl", category=cause, signal="no", example="no")
    made = grade(session_id="other", ended_on=now().date().isoformat(), failures=(failure,), total_errors=1)
    with store.transaction():
        save_grades(store, [msgspec.structs.replace(new_grade(made), signs=(sign,))])


def test_an_id_that_fits_several_gets_one_line(home: Path, run: Run) -> None:
    _seed(home)
    store = SqliteStore(home / DATABASE)
    with store.transaction():
        failure = Failure(2, "x", Category.TIMEOUT, None, "1-ab")
        sign = ErrorSign(fingerprint="1-ab", tool="x", command=None, category=Category.TIMEOUT, signal="s", example="e")
        made = grade(session_id="s", ended_on=now().date().isoformat(), failures=(failure,), total_errors=1)
        save_grades(store, [msgspec.structs.replace(new_grade(made), signs=(sign,))])
    store.close()
    assert "several" in _refused(run(home, "report", "errors", "resolve", "a"))
    assert run(home, "report", "errors", "resolve", "ab").returncode == 0


def test_an_unknown_state_gets_one_line(asked: Path, run: Run) -> None:
    assert "'broken'" in _refused(run(asked, "report", "errors", "list", "--state", "broken"))


# -- days ----------------------------------------------------------------------------------------------------------

WITH_DAYS = [["report", "patterns"], ["report", "errors", "list"], [], ["list"]]


@pytest.mark.parametrize("days", ["nan", "0", "-1", "0.5", "inf", "soon", f"1{RED}"])
@pytest.mark.parametrize("command", WITH_DAYS, ids=" ".join)
def test_days_that_are_none_get_one_line(asked: Path, command: list[str], days: str, run: Run) -> None:
    line = _refused(run(asked, *command, "-d", days))
    assert line.isprintable()


@pytest.mark.parametrize("days", ["1", "800000", "1000000000"])
@pytest.mark.parametrize("command", WITH_DAYS, ids=" ".join)
def test_any_number_of_days_gets_an_answer(asked: Path, command: list[str], days: str, run: Run) -> None:
    ended = run(asked, *command, "-d", days, "--json")
    assert (ended.returncode, ended.stderr) == (0, "")
    found = _document(ended)
    if command == ["report", "errors", "list"]:
        assert [issue["failures"] for issue in found["issues"]] == [4]
    elif command == ["report", "patterns"]:
        assert found["sessions"] == 4


@pytest.mark.parametrize(
    "command",
    [
        *(command for command in WITH_DAYS if command != []),  # which is a first screen, and says so
        *(["alerts"], ["show", "x"], ["why", "x"], ["label", "--list"], ["label", "x", "--completed", "yes"]),
        *(
            ["report", "errors", "resolve", "x"],
            ["alerts", "ack", "1"],
            ["calibration", "update", "--dry-run"],
            ["calibration", "show"],
        ),
        *(["grade", "--again", "--diff"], ["report"]),
    ],
    ids=" ".join,
)
def test_where_no_database_is_none_is_made(home: Path, command: list[str], run: Run) -> None:
    before = sorted(home.rglob("*"))

    ended = run(home, *command)

    assert _refused(ended).endswith("session_grades.db: nothing was graded yet; start: grader-daemon run")
    assert sorted(home.rglob("*")) == before


# -- moments from outside ------------------------------------------------------------------------------------------


@pytest.fixture
def set_zone(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], None]]:
    """Move the machine."""

    def moved(zone: str) -> None:
        monkeypatch.setenv("TZ", zone)
        time.tzset()

    yield moved
    monkeypatch.undo()
    time.tzset()


@pytest.mark.parametrize(
    "edge",
    [
        pytest.param(("Asia/Tokyo", datetime(9999, 12, 31, 23, 59, tzinfo=UTC)), id="the-last-minute-in-the-east"),
        pytest.param(("America/New_York", datetime(1, 1, 1, 0, 1, tzinfo=UTC)), id="the-first-minute-in-the-west"),
    ],
)
@pytest.mark.parametrize(
    "arguments",
    [
        ["report", "errors", "list", "--all"],
        ["report", "errors", "show", "b"],
        ["alerts"],
        ["alerts", "show", "1"],
        ["list"],
        ["report", "patterns"],
    ],
    ids=" ".join,
)
def test_moments_at_the_edge_of_time_are_shown(
    home: Path, arguments: list[str], edge: tuple[str, datetime], run: Run, set_zone: Callable[[str], None]
) -> None:
    zone, ended_at = edge
    _seed(home, _alert(opened_at=ended_at, began_at=ended_at))
    store = SqliteStore(home / DATABASE)
    sign = ErrorSign(fingerprint="1-b", tool="x", command=None, category=Category.TIMEOUT, signal="s", example="e")
    failure = Failure(2, "x", Category.TIMEOUT, None, "1-b")
    made = grade(
        session_id="s",
        ended_at=ended_at,
        ended_on=ended_at.date().isoformat(),
        failures=(failure,),
        total_errors=1,
    )
    with store.transaction():
        save_grades(store, [msgspec.structs.replace(new_grade(made), signs=(sign,))])
    store.close()
    set_zone(zone)
    for options in ([], ["--json"]):
        ended = run(home, *arguments, *options)
        assert (ended.returncode, ended.stderr) == (0, "")


# -- names from outside --------------------------------------------------------------------------------------------

COMMANDS = [
    ["alerts"],
    ["alerts", "show", "1"],
    ["alerts", "ack", "1", "--note", HOSTILE],
    ["alerts", "silence", "1"],
    ["report", "errors", "list"],
    ["report", "errors", "list", "--all", "--state", "new"],
    ["report", "errors", "show", "a"],
    ["report", "errors", "reopen", "a"],
    ["report", "patterns"],
    [],
    ["report", "--week", "2020-W01"],
    ["report", "--format", "md"],
]


@pytest.mark.parametrize("arguments", COMMANDS, ids=lambda arguments: " ".join(arguments[:2]))
def test_escapes_in_names_never_reach_a_pipe(hostile: Path, arguments: list[str], run: Run) -> None:
    ended = run(hostile, *arguments)
    assert (ended.returncode, ended.stderr) == (0, "")
    assert ended.stdout
    assert all(character.isprintable() or character == "\n" for character in ended.stdout), ascii(ended.stdout)


@pytest.mark.parametrize(
    "arguments", [["alerts"], ["alerts", "show", "1"], ["report", "errors", "show", "a"], ["report", "patterns"]]
)
def test_names_are_shown_marked(hostile: Path, arguments: list[str], run: Run) -> None:
    assert f"evil{HARMLESS}" in run(hostile, *arguments).stdout


@pytest.mark.parametrize(
    "arguments",
    [
        ["alerts"],
        ["alerts", "show", "1"],
        ["report", "errors", "list"],
        ["report", "errors", "show", "a"],
        ["report", "patterns"],
        [],
    ],
)
def test_documents_have_names_as_they_are_and_no_control_characters(
    hostile: Path, arguments: list[str], run: Run
) -> None:
    ended = run(hostile, *arguments, "--json")
    assert HOSTILE in _strings(_document(ended))
    assert not {"\x1b", "\x07", "\r"} & set(ended.stdout)


def _strings(value: object) -> set[str]:
    """All texts of a document, its keys as well."""
    if isinstance(value, str):
        return {value}
    if isinstance(value, dict):
        return set().union(*(_strings(each) for each in (*value, *value.values())))
    if isinstance(value, list):
        return set().union(*(_strings(each) for each in value)) if value else set()
    return set()


# -- what is done, as a document -----------------------------------------------------------------------------------


def test_what_is_done_with_alerts_and_issues_is_a_document(home: Path, run: Run, tmp_path: Path) -> None:
    _seed(home, _alert())
    known = _document(run(home, "alerts", "ack", "1", "--note", "mine", "--json"))["alert"]
    silent = _document(run(home, "alerts", "silence", "1", "--for", "2d", "--json"))
    assert (known["number"], known["note"]) == (1, "mine")
    assert (silent["number"], silent["silent_until"][:4].isdecimal()) == (1, True)
    states = [
        _document(run(home, "report", "errors", deed, ISSUE, "--json"))["issue"]["state"]
        for deed in ("resolve", "ignore")
    ]
    assert states == ["resolved", "ignored"]
    report = run(home, "report", "--json", "--out", str(tmp_path / "r.json"))
    assert report.stdout == f"{tmp_path}/r.json is written.\n"
    assert json.loads((tmp_path / "r.json").read_text())["week"]


def test_an_empty_report_of_last_week_says_how_to_see_this_one(run: Run, home: Path) -> None:
    """Who began this week sees no sessions in the report of the last."""
    SqliteStore(home / DATABASE).close()
    this_week = week_name(day_of(now(), None))

    shown, asked = run(home, "report"), run(home, "report", "--week", this_week)

    assert shown.stdout.endswith(f"\nThis was last week. This week so far: grader-daemon report --week {this_week}\n")
    assert "This was last week" not in asked.stdout


def test_files_that_were_given_up_are_called_so_everywhere(run: Run, home: Path) -> None:
    sessions = home / ".timmy" / "sessions"
    sessions.mkdir(parents=True)
    (sessions / "session_x.json").write_text("this was never a session")

    graded, status, seen = run(home, "grade"), run(home, "status"), run(home)

    assert graded.stdout == "1 given up\n"
    assert [line.split()[-1] for line in status.stdout.splitlines() if line.startswith("files given up")] == ["1"]
    assert "1 given up" in seen.stdout
    assert "dead" not in status.stdout + seen.stdout
    assert json.loads(run(home, "status", "--json").stdout)["files"] == {"dead": 1}


def test_patterns_have_the_first_rows_until_all_are_asked_for(tmp_path: Path, run: Run) -> None:
    (tmp_path / DATABASE).parent.mkdir(parents=True)
    store = SqliteStore(tmp_path / DATABASE)
    with store.transaction():
        for number in range(8):
            name = f"model-{number}"
            done = grade(session_id=name, model=name, ended_at=now(), ended_on=now().date().isoformat())
            save_grades(store, [new_grade(done)])
    store.close()

    short, whole = (run(tmp_path, "report", "patterns", "-d", "2", *more).stdout for more in ([], ["--all"]))

    assert ("5 others: --all\n" in short, "others" in whole) == (True, False)
    assert (short.count("model-"), whole.count("model-")) == (3, 8)
    assert "\nNext: grader-daemon report patterns -d 2 --all\n" in short


def test_patterns_have_a_line_for_each_row_on_a_narrow_terminal(
    tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / DATABASE).parent.mkdir(parents=True)
    store = SqliteStore(tmp_path / DATABASE)
    with store.transaction():
        for number in range(60):
            done = grade(
                session_id=f"{number}",
                session_file=f"/{number}",
                model="a-model-with-a-long-name-of-forty-letters",
                ended_at=now(),
                ended_on=now().date().isoformat(),
                tools=(ToolUse("terminal", 3, 1),),
            )
            save_grades(store, [new_grade(done)])
    store.close()
    monkeypatch.setattr(terminal, "room", lambda: 80)

    shown = run(tmp_path, "report", "patterns").stdout

    assert re.findall(r"^ {4}\S.*", shown, re.MULTILINE) == []
    assert "(too narrow for: failed calls" in shown
    assert len(shown.splitlines()) <= 40


def test_patterns_say_nothing_of_what_too_few_tell_until_all_is_asked_for(tmp_path: Path, run: Run) -> None:
    (tmp_path / DATABASE).parent.mkdir(parents=True)
    store = SqliteStore(tmp_path / DATABASE)
    with store.transaction():
        done = grade(session_id="one", model="m", ended_at=now(), ended_on=now().date().isoformat())
        save_grades(store, [new_grade(done)])
    store.close()

    short, whole = (run(tmp_path, "report", "patterns", "-d", "2", *more).stdout for more in ([], ["--all"]))
    table = next(lines for lines in short.split("\n\n") if lines.startswith("model"))

    assert [line.split() for line in table.splitlines()[-1:]] == [["m", "1", "1", "0", "0", "-", "-"]]
    assert ("platform" in short, "\nplatform" in whole) == (False, True)
    assert "too few sessions (1)" in whole
    assert ("change" in table, "before" in table) == (False, False)


@pytest.mark.parametrize("command", ["list", "export"])
def test_a_user_is_asked_for_in_a_fleet_alone(asked: Path, run: Run, command: str) -> None:
    ended = run(asked, command, "--user", "timmy")

    assert (ended.returncode, ended.stdout) == (2, "")
    assert "--user needs a fleet: set fleet_read_url, or give --db" in ended.stderr
