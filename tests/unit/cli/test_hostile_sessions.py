"""What commands show of sessions as an enemy would write them."""

from __future__ import annotations

import io
import json
import re
import sys
from pathlib import Path

import pytest

from grader_daemon import SelfGrader
from grader_daemon.redaction import public_id
from tests.hostile import EVIL, STRUCTURES, Planted, leaky_conversation, write_evil_sessions
from tests.strategies import document
from tests.unit.cli.conftest import Run

pytestmark = pytest.mark.no_cover  # tracing would cost more than the tests

WEEK = "2026-W47"
DATABASE = Path(".timmy/uniwizard/session_grades.db")
SESSIONS = Path(".timmy/hermes/sessions")
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


def _graded(home: Path, folder: Path) -> Path:
    with SelfGrader(db_path=home / DATABASE, watch_roots=[home / ".timmy"]) as grader:
        grader.grading.grade_paths([folder])
    return home


def _write(home: Path, name: str, content: bytes) -> Path:
    path = home / SESSIONS / f"session_{name}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return path


# -- secrets -----------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def planted() -> Planted:
    """Where secrets are."""
    return Planted()


@pytest.fixture(scope="module")
def leaky(tmp_path_factory: pytest.TempPathFactory, planted: Planted) -> Path:
    """A home with a graded session that has secrets everywhere."""
    home = tmp_path_factory.mktemp("leaky")
    names = {"model": planted.at("model"), "platform": planted.at("platform")}
    _write(home, "leaky", document(leaky_conversation(planted), session_id="leaky", **names))
    return _graded(home, home / SESSIONS)


@pytest.mark.parametrize(
    "arguments",
    [
        ["list"],
        ["list", "--json"],
        ["show", "leaky"],
        ["show", "leaky", "--json"],
        ["show", "leaky", "--transcript"],
        ["show", "leaky", "--transcript", "--json"],
        ["why", "leaky"],
        ["why", "leaky", "--json"],
        ["-d", "1000"],
        ["report", "patterns", "-d", "1000"],
        ["report", "patterns", "-d", "1000", "--json"],
        ["report", "errors", "list", "--all"],
        ["report", "errors", "list", "--all", "--json"],
        ["status", "--json"],
        ["doctor", "--json"],
        ["alerts", "--json"],
        ["grade", "--dry-run", "--json", "."],
        ["grade", "."],
        *(["report", "--week", WEEK, "--format", form] for form in ("text", "md", "html", "json")),
    ],
    ids=" ".join,
)
def test_secrets_are_not_shown(leaky: Path, planted: Planted, arguments: list[str], run: Run) -> None:
    ended = run(leaky, *arguments)

    assert planted.in_(ended.stdout + ended.stderr) == set()


def test_secrets_are_not_shown_with_an_error(leaky: Path, planted: Planted, run: Run) -> None:
    listed = json.loads(run(leaky, "report", "errors", "list", "--all", "--json").stdout)
    ids = set(re.findall(r"\b\d-[0-9a-f]{12}\b", json.dumps(listed)))

    assert len(ids) >= 4
    for issue in ids:
        assert planted.in_(run(leaky, "report", "errors", "show", issue).stdout) == set()


def test_secrets_are_not_shown_in_a_review(
    leaky: Path, planted: Planted, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO("s\n" * 20))

    shown = run(leaky, "label").stdout

    assert "Asked:" in shown
    assert planted.in_(shown) == set()


# -- terminals ---------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def evil(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home with control characters in the names of folders and files, too."""
    home = tmp_path_factory.mktemp("evil")
    folder = home / ".timmy" / EVIL / "sessions"
    write_evil_sessions(folder)
    return _graded(home, folder)


@pytest.mark.parametrize(
    "arguments",
    [
        ["show", "one"],
        ["show", "one", "--json"],
        ["show", "one", "--transcript"],
        ["show", "one", "--transcript", "--json"],
        ["show", "two"],
        ["why", "one"],
        ["why", "one", "--json"],
        ["list", "--json"],
        ["grade", "."],
        ["grade", ".", "--json"],
        ["grade"],
        ["status"],
        ["status", "--json"],
        ["doctor"],
        ["doctor", "--json"],
        *(["report", "--week", WEEK, "--format", form] for form in ("text", "md", "html", "json")),
    ],
    ids=" ".join,
)
def test_control_characters_of_names_are_never_shown(evil: Path, arguments: list[str], run: Run) -> None:
    ended = run(evil, *arguments)

    assert ended.stdout + ended.stderr
    assert set(_CONTROL.findall(ended.stdout + ended.stderr)) == set()


def test_control_characters_are_never_shown_in_a_review(evil: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO("o\ns\n" * 20))

    shown = run(evil, "label").stdout

    assert "Asked:" in shown
    assert set(_CONTROL.findall(shown)) == set()


# -- ids ---------------------------------------------------------------------------------------------------------------

IDS = [
    pytest.param("../../../../escaped", id="parents"),
    pytest.param("/etc/passwd", id="absolute"),
    pytest.param("a/../../b", id="parents-inside"),
    pytest.param("nul\0inside", id="nul"),
    pytest.param("two\nlines", id="line-break"),
    pytest.param("~/.ssh/id_ed25519", id="home"),
    pytest.param("%2e%2e%2fescaped", id="percent-encoded"),
    pytest.param("-rf", id="like-an-option"),
    pytest.param("'; DROP TABLE session_grades; --", id="sql"),
    pytest.param("%_", id="sql-wildcards"),
]


@pytest.mark.parametrize("session_id", IDS)
def test_an_id_never_becomes_a_path(home: Path, session_id: str, run: Run) -> None:
    _write(home, "odd", document(session_id=session_id))
    _graded(home, home / SESSIONS)
    before = set(home.rglob("*"))
    (known,) = (grade["session_id"] for grade in json.loads(run(home, "list", "--json").stdout)["grades"])

    shown = run(home, "show", "--json", "--", known)
    why = run(home, "why", "--", known)
    reported = run(home, "report", "--week", WEEK)

    assert known == public_id(session_id)
    assert json.loads(shown.stdout)["grade"]["session_id"] == known
    assert (why.returncode, reported.returncode) == (0, 0)
    assert set(home.rglob("*")) - before <= set((home / DATABASE).parent.rglob("*"))


def test_an_id_may_not_be_longer_than_any_real_one(home: Path, run: Run) -> None:
    _write(home, "long", document(session_id="x" * 1_000_000))

    ended = run(home, "grade", ".")

    assert ended.returncode == 1
    assert ended.stderr.count("\n") == 1
    assert len(ended.stderr) < 400


# -- what is too much, too long or too deep ----------------------------------------------------------------------------


def test_every_strange_file_is_told_in_one_line(home: Path, run: Run) -> None:
    for name, make in STRUCTURES.items():
        _write(home, name, make(100_000))

    ended = run(home, "grade", "--json", "--dry-run", ".")

    told = json.loads(ended.stdout)
    assert (ended.returncode, ended.stderr) == (1, "")
    assert len(told["grades"]) + len(told["skipped"]) + len(told["errors"]) == len(STRUCTURES)
    assert all(len(row["error"]) < 300 and "\n" not in row["error"] for row in told["errors"])


def test_a_million_messages_are_too_many(home: Path, run: Run) -> None:
    _write(home, "million", STRUCTURES["tiny-messages"](3_000_000))

    ended = run(home, "grade", ".")

    assert ended.returncode == 1
    assert ended.stderr.count("\n") == 1
    assert "max_" in ended.stderr


def test_a_session_of_many_tools_leaves_little_behind(home: Path, run: Run) -> None:
    _write(home, "tools", STRUCTURES["distinct-tools"](4_000_000))
    _write(home, "results", STRUCTURES["failures-without-a-call"](400_000).replace(b'"x"', b'"y"', 1))

    ended = run(home, "grade", ".")

    assert ended.returncode == 0, ended.stderr
    assert sum(file.stat().st_size for file in (home / DATABASE).parent.iterdir()) < 3_000_000
