"""The house keeps its shape: the import contracts hold, and each of them notices when it is broken.

So do the rules that no contract can say: who may read what stands in messages, names, sizes.
"""

from __future__ import annotations

import ast
import re
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Final, NamedTuple

import pytest

from grader_daemon.wings import WINGS

_ROOT = Path(__file__).parent.parent
_PACKAGE = _ROOT / "grader_daemon"
_LINTER = Path(sys.executable).parent / "lint-imports"

_VIOLATIONS = [
    pytest.param("domain/session.py", "import grader_daemon.sources", id="the-domain-imports-a-stage"),
    pytest.param("sources/decoding.py", "import grader_daemon.analysis", id="a-stage-imports-another"),
    pytest.param("grading/grade_session.py", "import grader_daemon.storage", id="a-stage-imports-storage"),
    pytest.param("storage/sqlite/store.py", "import grader_daemon.pipeline", id="storage-imports-the-pipeline"),
    pytest.param("storage/sqlite/store.py", "import grader_daemon.patterns.issues", id="storage-imports-a-pattern"),
    pytest.param("daemon/worker.py", "import grader_daemon.api.grades", id="the-daemon-imports-the-api"),
    pytest.param("api/grades.py", "import grader_daemon.cli", id="the-api-imports-the-command-line"),
    pytest.param("analysis/analyzer.py", "import time", id="the-core-imports-a-clock"),
    pytest.param("domain/grade.py", "import structlog", id="the-core-imports-a-log"),
    pytest.param("daemon/debounce.py", "import threading", id="the-debouncer-imports-threads"),
    pytest.param("pipeline/ingest.py", "import apsw", id="sql-outside-of-storage"),
    pytest.param("daemon/service_loop.py", "import watchdog", id="watchdog-outside-of-the-watcher"),
    pytest.param("cli/listing.py", "import grader_daemon.storage", id="a-command-goes-past-the-api"),
    pytest.param("dashboard/site.py", "import grader_daemon.storage", id="a-page-goes-past-the-api"),
    pytest.param("cli/grade_ungraded.py", "import grader_daemon.archive.commands", id="the-core-imports-a-wing"),
    pytest.param("recall/toolbox.py", "import grader_daemon.storage", id="an-answer-to-an-agent-goes-past-the-api"),
    pytest.param("recall/mcp_server.py", "import grader_daemon.fleet.store", id="wings-know-each-other"),
    pytest.param("cli/listing.py", "import uvicorn", id="a-web-server-outside-of-the-page"),
    pytest.param("api/grades.py", "import grader_daemon.dashboard.site", id="the-api-imports-the-page"),
    pytest.param("reports/html.py", "import grader_daemon.patterns.groups", id="a-report-mines-patterns"),
    pytest.param("alerts/detector.py", "import time", id="the-detector-imports-a-clock"),
    pytest.param("jobs/weekly.py", "import grader_daemon.daemon.queue", id="a-job-imports-the-daemon"),
    pytest.param("patterns/groups.py", "import apsw", id="patterns-speak-sql"),
    pytest.param("api/excerpts.py", "import grader_daemon.redaction.forms", id="a-side-door-into-redaction"),
    pytest.param("redaction/forms.py", "import grader_daemon.analysis", id="redaction-imports-a-stage"),
]


def test_contracts_hold() -> None:
    assert _lint(_ROOT).returncode == 0


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the package, to be broken."""
    folder = tmp_path_factory.mktemp("copy")
    ignored = shutil.ignore_patterns("__pycache__")
    shutil.copytree(_ROOT / "grader_daemon", folder / "grader_daemon", ignore=ignored)
    shutil.copy(_ROOT / "pyproject.toml", folder)
    return folder


def test_a_file_that_no_layer_names_is_caught(package: Path) -> None:
    assert _lint(package).returncode == 0
    stray = package / "grader_daemon" / "stray.py"
    stray.touch()

    assert _lint(package).returncode == 1

    stray.unlink()


@pytest.fixture(scope="module")
def planted(package: Path) -> tuple[dict[tuple[str, str], str], str]:
    """All violations planted at once: how the linter must name each, and what it says."""
    named = {}
    for file, line in (each.values for each in _VIOLATIONS):
        target = package / "grader_daemon" / str(file)
        before = target.read_text("utf-8")
        target.write_text(f"{before}\n{line}\n", "utf-8")
        importer = ".".join(Path(str(file)).with_suffix("").parts)
        imported = str(line).removeprefix("import ")
        named[str(file), str(line)] = f"grader_daemon.{importer} -> {imported} (l.{before.count(chr(10)) + 2})"
    return named, " ".join(_lint(package).stdout.split())


@pytest.mark.parametrize(("file", "line"), _VIOLATIONS)
def test_planted_violation_is_caught(planted: tuple[dict[tuple[str, str], str], str], file: str, line: str) -> None:
    named, said = planted
    assert named[file, line] in said


def _lint(folder: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-P", str(_LINTER), "--no-cache"]
    environment = {"PYTHONPATH": str(folder), "PATH": ""}
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)


# -- what a session says leaves through one door -----------------------------------------------------------------------

_READING_ROOMS = frozenset({"sources", "analysis", "grading", "pipeline", "domain", "redaction", "testing"})
"""They work on whole sessions; what they keep of one is redacted by the analysis. Tests keep nothing."""

_HOLDING = "from grader_daemon.domain.session import"
"""Few modules say so: only these are parsed."""

_CONTENT = frozenset({"Session", "Message", "ToolCall", "FunctionCall", "Part"})
_READS = frozenset({"messages", "arguments"})


def _may_let_slip(source: str) -> bool:
    """Does a module read what stands in messages, and know no redactor?"""
    if _HOLDING not in source:
        return False
    tree = ast.parse(source)
    imported = {
        (node.module, name.name) for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) for name in node.names
    }
    knows_content = any(module == "grader_daemon.domain.session" and name in _CONTENT for module, name in imported)
    knows_redaction = any(module == "grader_daemon.redaction" for module, _ in imported)
    reads = {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)} & _READS
    return knows_content and bool(reads) and not knows_redaction


def test_who_reads_messages_outside_of_the_core_imports_redaction() -> None:
    others = [path for path in _modules() if path.relative_to(_PACKAGE).parts[0] not in _READING_ROOMS]
    assert [path for path in others if _may_let_slip(path.read_text("utf-8"))] == []


@pytest.mark.parametrize(
    ("imports", "slips"),
    [
        pytest.param("from grader_daemon.domain.session import Session", True, id="no-redactor"),
        pytest.param(
            "from grader_daemon.domain.session import Session\nfrom grader_daemon.redaction import SECRETS",
            False,
            id="a-redactor",
        ),
        pytest.param("from grader_daemon.domain.grade import Reason", False, id="messages-of-something-else"),
    ],
)
def test_a_module_that_shows_messages_as_they_are_is_noticed(imports: str, slips: bool) -> None:
    assert _may_let_slip(f"{imports}\n\ndef show(each):\n    return each.messages[0]\n") is slips


@pytest.mark.parametrize(
    "room",
    [
        *("alerts", "calibration", "cli", "daemon", "log", "patterns", "reports", "rules", "storage"),
        *("push", "recall", "routing", "skills"),
    ],
)
def test_rooms_that_tell_of_sessions_never_hold_one(room: str) -> None:
    holding = [
        f"{path.name}: {name.name}"
        for path in (_PACKAGE / room).rglob("*.py")
        if _HOLDING in path.read_text("utf-8")
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.ImportFrom) and node.module == "grader_daemon.domain.session"
        for name in node.names
        if name.name in _CONTENT
    ]
    assert holding == []


# -- who speaks SQL ----------------------------------------------------------------------------------------------------

_SPEAKING_ROOMS = frozenset({"storage", "sources"})
_STATEMENT: Final = re.compile(r"""["'](?:SELECT \w|INSERT (?:OR|INTO)|UPDATE \w|DELETE FROM|PRAGMA \w|BEGIN\b)""")


_WINGS: Final = frozenset(wing.name for wing in WINGS)


def _may_speak_sql(path: Path) -> bool:
    """Return whether a module lies in a room of databases, or keeps tables of a wing, or asks its server."""
    room = path.relative_to(_PACKAGE).parts[0]
    return room in _SPEAKING_ROOMS or (room in _WINGS and (path.name == "store.py" or path.name.startswith("server")))


def test_sql_stands_where_the_database_is_kept() -> None:
    """The store has its connection, and whoever has the store could use it: no import would tell."""
    others = [path for path in _modules() if not _may_speak_sql(path)]
    assert [path for path in others if _STATEMENT.search(path.read_text("utf-8"))] == []


# -- names and sizes ---------------------------------------------------------------------------------------------------

_MIRRORS = frozenset({"api", "cli", "dashboard", "storage"})
"""A command, its page, its use case and its table may bear the name of the one thing that all of them are about."""

_LAYERS = frozenset({"__init__", "__main__", "commands", "doctor", "job", "model", "store", "systemd_unit"})
"""Modules by the name of a layer; the wing around them says of what."""


def test_no_two_modules_share_a_name() -> None:
    names = Counter(
        path.stem
        for path in _modules()
        if path.stem not in _LAYERS and path.relative_to(_PACKAGE).parts[0] not in _MIRRORS
    )
    assert {name for name, count in names.items() if count > 1} == set()


_MOST_LINES = 400
_MOST_LINES_OF_A_FUNCTION = 60
_NOT_TO_BEGIN_WITH = frozenset(
    {"Give", "Gives", "Let", "Lets", "Put", "Puts", "Say", "Says", "Take", "Takes", "Tell", "Tells"}
)
"""Docstrings say it as Python's own do: "Return", "Yield", "Raise"."""

_CLAUSES = frozenset(
    {"What", "Whether", "How", "Who", "Whom", "Whose", "Which", "Where", "When", "Why", "Is", "Are", "Does", "Has"}
)
"""A docstring that begins with a clause or a question comes to its subject late."""


def test_docstrings_begin_as_readers_of_python_expect() -> None:
    assert list(_docstrings_that_begin_with(_NOT_TO_BEGIN_WITH)) == []


def test_docstrings_begin_with_their_subject() -> None:
    assert list(_docstrings_that_begin_with(_CLAUSES)) == []


def _docstrings_that_begin_with(words: frozenset[str]) -> Iterator[str]:
    for each in _definitions():
        if each.docstring.split(maxsplit=1)[0] in words:
            yield f"{each.path}: {each.docstring.splitlines()[0]}"


class _Definition(NamedTuple):
    """A module, a class or a function; `lines` are those of a function."""

    path: Path
    name: str
    docstring: str
    lines: int


@cache
def _definitions() -> list[_Definition]:
    """Return those of the package; to parse all of it takes seconds."""
    return [
        _Definition(path.relative_to(_PACKAGE), getattr(node, "name", ""), ast.get_docstring(node) or "-", _lines(node))
        for path in _modules()
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.FunctionDef | ast.ClassDef | ast.Module)
    ]


def _lines(node: ast.AST) -> int:
    return (node.end_lineno or 0) - node.lineno if isinstance(node, ast.FunctionDef) else 0


def test_no_file_is_long() -> None:
    lengths = {str(path.relative_to(_PACKAGE)): len(path.read_text("utf-8").splitlines()) for path in _modules()}
    assert {name: length for name, length in lengths.items() if length > _MOST_LINES} == {}


def test_no_function_is_long() -> None:
    long = [f"{each.path}: {each.name}" for each in _definitions() if each.lines >= _MOST_LINES_OF_A_FUNCTION]
    assert long == []


def _modules() -> list[Path]:
    return sorted(_PACKAGE.rglob("*.py"))
