"""``list`` and ``export`` as a person and a program use them."""

from __future__ import annotations

import csv
import io
import json
import re
from datetime import timedelta
from pathlib import Path

import msgspec
import pytest

from grader_daemon import SelfGrader
from grader_daemon.api.documents import GRADE_NAMES, grade_document
from grader_daemon.cli import terminal
from grader_daemon.cli.grades import grade_table
from grader_daemon.domain.analysis import SessionState
from grader_daemon.domain.session_result import ResultStanding
from grader_daemon.domain.verdict import VerdictBy
from grader_daemon.storage.sqlite.store import SqliteStore
from tests.e2e.session_files import failing, now, turns, write, write_ended
from tests.reports_examples import TRUST
from tests.strategies import NOW, grade, json_answer, json_round, json_user
from tests.unit.cli.conftest import Ended, Run

DATABASE = Path(".timmy/uniwizard/session_grades.db")
OLD, FAILED, NEW = "20261101_100000_aaaaaa", "20261121_100000_bbbbbb", "20261121_110000_cccccc"


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home with three graded sessions, the eldest of ten days ago; tests only ask."""
    home = tmp_path_factory.mktemp("listed")
    sessions, at = home / ".timmy" / "sessions", now()
    write_ended(sessions, OLD, at - timedelta(days=10), turns(2, task="Write the docs"))
    write_ended(sessions, FAILED, at - timedelta(hours=2), failing(3))
    write_ended(sessions, NEW, at - timedelta(hours=1), turns(1, task="=cmd|' /C calc'!A0 and the parser"))
    with SelfGrader(db_path=home / DATABASE, watch_roots=[home / ".timmy"]) as grader:
        grader.grade_latest_sessions()
        grader.labels.add(OLD, completed=True)
    return home


def listed(ended: Ended) -> list[str]:
    """The ids in a list."""
    assert ended.returncode == 0, ended.stderr
    return [grade["session_id"] for grade in json.loads(ended.stdout)["grades"]]


@pytest.mark.parametrize(
    ("options", "ids"),
    [
        pytest.param([], [NEW, FAILED, OLD], id="newest-first"),
        pytest.param(["--reverse"], [OLD, FAILED, NEW], id="oldest-first"),
        pytest.param(["-n", "1"], [NEW], id="limit"),
        pytest.param(["--since", "7d"], [NEW, FAILED], id="since"),
        pytest.param(["--until", "7d"], [OLD], id="until"),
        pytest.param(["--since", "7d", "--until", "90m"], [FAILED], id="since-and-until"),
        pytest.param(["--search", "docs"], [OLD], id="text"),
        pytest.param(["--search", "pars"], [NEW, FAILED], id="beginning-of-a-word"),
        pytest.param(["--person"], [OLD], id="person"),
        pytest.param(["--error", "permission_denied"], [FAILED], id="error"),
        pytest.param(["--error", "edit-not-applied"], [], id="a-finer-kind-of-error"),
        pytest.param(["--tool", "terminal", "--task-type", "debugging"], [FAILED], id="tool-and-task-type"),
        pytest.param(["--sort", "errors"], [FAILED, NEW, OLD], id="sorted"),
        pytest.param(["--completed"], [NEW, OLD], id="completed"),
        pytest.param(["--not-completed"], [FAILED], id="not-completed"),
        pytest.param(["--unsure"], [NEW, FAILED], id="without-labels-nothing-is-sure"),
        pytest.param(["--verdict", "done"], [OLD], id="done-as-a-person-says"),
        pytest.param(["--verdict", "not-done"], [], id="none-surely-failed"),
        pytest.param(["--verdict", "unsure"], [NEW, FAILED], id="unsure"),
        pytest.param(["--claim", "verified"], [], id="no-such-claim"),
        pytest.param(["--state", "open"], [], id="none-open"),
        pytest.param(["done", "kind:main", '"docs"'], [OLD], id="a-line"),
        pytest.param(["unsure since:7d", "--error", "permission_denied"], [FAILED], id="a-line-and-an-option"),
    ],
)
def test_a_list_holds_what_was_asked_for(home: Path, run: Run, options: list[str], ids: list[str]) -> None:
    assert listed(run(home, "list", "--json", *options)) == ids


def test_an_issue_is_found_by_the_beginning_of_its_id(home: Path, run: Run) -> None:
    [issue] = json.loads(run(home, "report", "errors", "list", "--json", "--all").stdout)["issues"]

    assert listed(run(home, "list", "--json", "--issue", issue["fingerprint"][:6])) == [FAILED]


def test_a_folder_is_found_however_it_is_written(tmp_path: Path, run: Run) -> None:
    prompt = f"User home directory: /home/timmy\nCurrent working directory: {tmp_path / 'work'}\n"
    write(tmp_path / ".timmy" / "sessions", NEW, system_prompt=prompt)
    with SelfGrader(db_path=tmp_path / DATABASE, watch_roots=[tmp_path / ".timmy"]) as grader:
        grader.grade_latest_sessions()

    assert listed(run(tmp_path, "list", "--json", "--project", "work")) == [NEW]
    assert listed(run(tmp_path, "list", "--json", "--project", "other")) == []


@pytest.mark.parametrize(
    ("options", "says"),
    [
        pytest.param(["--model", "gpt-9"], "no session has the model 'gpt-9'; known: ", id="model"),
        pytest.param(
            ["--task-type", "cooking"],
            "no session has the task type 'cooking'; known: general, debugging",
            id="task-type",
        ),
        pytest.param(["--tool", "bash"], "no session has the tool 'bash'; known: terminal", id="tool"),
        pytest.param(["--error", "tired"], "permission-denied", id="error"),
        pytest.param(["--issue", "9-ffff"], "9-ffff", id="issue"),
        pytest.param(["--completed", "--not-completed"], "not both", id="both"),
        pytest.param(["--search", "..."], "no word to search for", id="no-word"),
        pytest.param(["--until", "yesterday"], "yesterday", id="no-time"),
        pytest.param(["failled"], "did you mean failed?", id="a-slip-in-a-line"),
    ],
)
def test_what_nothing_can_meet_is_told_with_what_is_known(home: Path, run: Run, options: list[str], says: str) -> None:
    ended = run(home, "list", *options)

    assert ended.returncode == 2
    assert says in ended.stderr
    assert ended.stdout == ""
    assert ended.stderr.count("\n") == 1


def test_piped_text_is_whole(tmp_path: Path, run: Run) -> None:
    task = "Fix " + "the parser and " * 12 + "the end"
    write_ended(tmp_path / ".timmy" / "sessions", NEW, now(), turns(1, task=task))
    with SelfGrader(db_path=tmp_path / DATABASE, watch_roots=[tmp_path / ".timmy"]) as grader:
        grader.grade_latest_sessions()

    assert "the end" in run(tmp_path, "list").stdout


@pytest.mark.parametrize("command", [["export"], ["list", "-o", "csv"]], ids=["export", "list"])
def test_csv_has_every_grade_and_no_formula(home: Path, run: Run, command: list[str]) -> None:
    rows = list(csv.DictReader(io.StringIO(run(home, *command).stdout)))

    assert [row["session_id"] for row in rows] == [NEW, FAILED, OLD]
    assert list(rows[0]) == ["id", *GRADE_NAMES]
    assert rows[0]["task_summary"].startswith("'=cmd|")
    assert [row["task_completed"] for row in rows] == ["true", "false", "true"]
    assert json.loads(rows[1]["error_types"]) == ["permission_denied"]
    assert rows[0]["asked_again"] == ""


def test_json_lines_are_the_documents_of_grades(home: Path, run: Run) -> None:
    documents = [json.loads(line) for line in run(home, "export", "-f", "ndjson", "--since", "7d").stdout.splitlines()]

    assert documents == json.loads(run(home, "list", "--json", "--since", "7d").stdout)["grades"]


def test_an_export_goes_on_from_page_to_page(home: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("grader_daemon.api.grades._PAGE", 1)

    for options in ([], ["--sort", "probability"], ["--sort", "errors", "--reverse"]):
        exported = run(home, "export", "-f", "ndjson", *options).stdout.splitlines()
        ids = [json.loads(line)["session_id"] for line in exported]
        assert ids == listed(run(home, "list", "--json", *options))


def test_an_empty_table_has_its_headings(home: Path, run: Run) -> None:
    assert run(home, "export", "--state", "open").stdout == ",".join(["id", *GRADE_NAMES]) + "\n"


def test_names_of_a_document_are_told_in_its_order() -> None:
    assert tuple(grade_document(grade(), None, trust=TRUST)) == GRADE_NAMES


def test_verdicts_are_told_in_words(capsys: pytest.CaptureFixture[str]) -> None:
    known = grade(task_completed=True)
    grades = [
        known,
        msgspec.structs.replace(known, task_completed=False, state=SessionState.OPEN),
        msgspec.structs.replace(known, unsure=True, verdict_by=VerdictBy.MODEL),
        msgspec.structs.replace(known, scored=False),
        msgspec.structs.replace(known, task_completed=False, verdict_by=VerdictBy.PERSON),
    ]

    grade_table(grades)

    heads, *rows, note = capsys.readouterr().out.splitlines()
    place = heads.index("verdict")
    told = [row[place : heads.index("result")].strip() for row in rows]
    assert told == ["done", "unsure", "unsure", "no answer", "not done*"]
    assert note == "* label by a person"


@pytest.mark.parametrize(
    ("columns", "left_out"),
    [
        pytest.param(160, [], id="all"),
        pytest.param(
            100,
            [
                "state",
                "tokens",
                "cost",
                "agent",
                "project",
                "claims",
                "model",
                "quality (1-5)",
                "efficiency (1-5)",
                "failures",
            ],
            id="some",
        ),
    ],
)
def test_a_narrow_terminal_does_without_some_columns(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, columns: int, left_out: list[str]
) -> None:
    monkeypatch.setattr(terminal, "room", lambda: columns)

    grade_table([grade(session_id="20261121_100000_aaaaaa", model="model-1", project="/home/timmy/work")])

    shown = capsys.readouterr().out
    assert ("(too narrow for: " + ", ".join(left_out) + ")" in " ".join(shown.split())) == bool(left_out)
    assert all(len(line) <= columns for line in shown.splitlines())


def test_a_terminal_of_80_columns_has_a_session_in_one_line(
    home: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    long = [f"{number}1b5c7e2-0f3a-4c55-9d1e-77aa10c2f0b{number}" for number in range(3)]
    made = [
        grade(
            session_id=each,
            agent=agent,
            model="model-1",
            task_summary="Fix the parser " * 9,
            standing=standing,
            state=state,
            p_completed=0.4,
            ended_at=NOW - timedelta(hours=3),
        )
        for each, agent, standing, state in zip(
            long,
            ("claude-code", "gemini-cli", "codex"),
            (ResultStanding.CONTRADICTED, ResultStanding.CHECK_FAILED, None),
            SessionState,
            strict=True,
        )
    ]
    monkeypatch.setattr(terminal, "room", lambda: 80)
    monkeypatch.setattr(terminal, "width", lambda: 80)

    grade_table(made, short_id=lambda session_id: session_id[:8], now=NOW)

    heads, _, *rows = capsys.readouterr().out.splitlines()
    assert heads.split()[:3] == ["session", "ended", "ago"]
    assert [word in heads for word in ("verdict", "result", "likely done", "task")] == [True] * 4
    assert [row.split()[:3] for row in rows[:3]] == [[f"{number}1b5c7e2", "3", "h"] for number in range(3)]
    assert all(len(row) <= 80 for row in rows)

    monkeypatch.undo()
    with SelfGrader(db_path=home / DATABASE) as grader:
        assert [grader.grades.short_id(each) for each in (OLD, FAILED, NEW)] == [OLD[:8], FAILED[:11], NEW[:11]]


@pytest.mark.parametrize(
    ("others", "columns", "is_shown"),
    [
        pytest.param("hermes", 120, False, id="one-agent-is-no-news"),
        pytest.param("codex", 120, True, id="of-two-agents-it-is-told-whose-a-session-is"),
        pytest.param("hermes", 400, True, id="all-is-shown-where-there-is-room"),
    ],
)
def test_the_agent_is_told_where_there_are_several(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, others: str, columns: int, is_shown: bool
) -> None:
    monkeypatch.setattr(terminal, "room", lambda: columns)
    listed = [
        grade(session_id=f"20261121_100000_{agent}", model="model-1", agent=agent) for agent in ("hermes", others)
    ]

    grade_table(listed)

    assert ("agent" in capsys.readouterr().out.splitlines()[0].split()) == is_shown


@pytest.mark.parametrize(
    ("limit", "more"), [pytest.param("2", True, id="some-are-left"), pytest.param("3", False, id="all")]
)
def test_a_list_says_that_there_are_more(home: Path, run: Run, limit: str, more: bool) -> None:
    last = run(home, "list", "-n", limit).stdout.splitlines()[-1]
    assert (last == "2 shown; show more with -n.") == more


def test_an_empty_list_says_whether_a_filter_made_it_so(tmp_path: Path, home: Path, run: Run) -> None:
    SqliteStore(tmp_path / DATABASE, host="here").close()
    assert run(tmp_path, "list").stdout == "No sessions are graded yet.\n"
    assert run(home, "list", "--since", "0m").stdout == "No matching sessions.\n"


@pytest.mark.parametrize("form", ["csv", "ndjson"])
def test_two_forms_at_once_are_refused(home: Path, run: Run, form: str) -> None:
    ended = run(home, "list", "-o", form, "--json")
    assert (ended.returncode, ended.stdout) == (2, "")
    assert f"give --json or -o {form}, not both" in ended.stderr


def test_why_says_of_each_error_and_of_the_session_what_became_of_it(tmp_path: Path, run: Run) -> None:
    raised = 'Traceback (most recent call last):\n  File "a.py", line 1, in <module>\nKeyError: 7'
    failed = json_round(json.dumps({"output": raised, "exit_code": 1, "error": None}), tool="terminal")
    worked = json_round(json.dumps({"content": "x = 7"}), tool="read_file")
    said = [json_user("Fix the parser"), *failed, *failed, *worked, json_answer("Done.")]
    write(tmp_path / ".timmy" / "sessions", NEW, said)
    with SelfGrader(db_path=tmp_path / DATABASE, watch_roots=[tmp_path / ".timmy"]) as grader:
        grader.grade_latest_sessions()

    shown = run(tmp_path, "why", NEW).stdout

    assert "errors_recovered = yes, judged by any call after the last failed one\n" in shown
    assert [line.split() for line in shown.splitlines() if line.startswith("message ")] == [
        ["message", "tool", "error", "same", "step", "worked", "later"]
    ]
    assert re.search(r"^ +2  terminal +\w+ +no$", shown, re.MULTILINE)
    assert "  messages 2, 4: tool: KeyError: 7\n" in shown
