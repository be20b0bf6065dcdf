"""What commands print with ``--json`` is what docs/schemas says."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.reference.commands import names
from tests.reference.pages import SCHEMAS
from tests.reference.schemas import DOCUMENTS, Document
from tests.reference.validation import misfits
from tests.unit.cli.conftest import Run
from tests.unit.cli.test_usage import WITHOUT_JSON

PRINTED = {
    "grade": ["grade", "--json", ".timmy/sessions"],
    "files": ["grade", "--again", "--all", "--json"],
    "files-to-grade": ["grade", "--dry-run", "--json"],
    "regrade-diff": ["grade", "--again", "--diff", "--json"],
    "sources-forget": ["sources", "forget", "--json", ".timmy/sessions/session_broken.json"],
    "status": ["status", "--json"],
    "doctor": ["doctor", "--repair", "--json"],
    "backup-create": ["backup", "create", "copy.bak", "--json"],
    "backup-restore": ["backup", "restore", "copy.bak", "--json"],
    "list": ["list", "--json"],
    "grade-line": ["export", "-f", "ndjson", "--search", "deploy"],
    "show": ["show", "demo_01", "--json"],
    "transcript": ["show", "demo_01", "--transcript", "--json"],
    "why": ["why", "demo_01", "--json"],
    "label": ["label", "demo_05", "--completed", "no", "--json"],
    "label-undo": ["label", "demo_03", "--undo", "--json"],
    "label-list": ["label", "--list", "--json"],
    "label-file": ["label", "--csv", "labels.csv", "--json"],
    "summary": ["--json"],
    "patterns": ["report", "patterns", "-d", "30", "--json"],
    "usage": ["report", "usage", "-d", "30", "--by", "project", "--json"],
    "route": ["route", "--json"],
    "outcomes": ["report", "outcomes", "--json"],
    "hook-status": ["hook", "status", "--json"],
    "hook-install": ["hook", "install", "codex", "--yes", "--json"],
    "hook-uninstall": ["hook", "uninstall", "codex", "--yes", "--json"],
    "hook-trial": ["hook", "trial", "start", "--json"],
    "similar": ["search", "--similar", "demo_again", "--json"],
    "setup-changes": ["changes", "--json"],
    "skills-list": ["skills", "--json"],
    "skills-show": ["skills", "show", "deploy", "--json"],
    "skills-suggest": ["skills", "suggest", "debugging", "--json"],
    "trial-start": ["changes", "trial", "start", "deploy", "--yes", "--json"],
    "trial-status": ["changes", "trial", "status", "--json"],
    "trial-stop": ["changes", "trial", "stop", "--json"],
    "errors-list": ["report", "errors", "list", "--json"],
    "errors-alternatives": ["report", "errors", "alternatives", "terminal", "timeout", "--json"],
    "errors-show": ["report", "errors", "show", "ISSUE", "--json"],
    "report": ["report", "--json"],
    "alerts-list": ["alerts", "--json"],
    "alerts-show": ["alerts", "show", "1", "--json"],
    "alerts-ack": ["alerts", "ack", "1", "--json"],
    "alerts-silence": ["alerts", "silence", "1", "--json"],
    "alerts-silences": ["alerts", "silences", "--json"],
    "alerts-test": ["alerts", "test", "--json"],
    "calibration-update": ["calibration", "update", "--dry-run", "--json"],
    "calibration-show": ["calibration", "show", "--json"],
    "calibration-level": ["calibration", "level", "70%", "--json"],
    "config-show": ["config", "show", "--json"],
    "config-get": ["config", "get", "db_path", "--json"],
    "config-path": ["config", "path", "--json"],
    "config-check": ["config", "check", "--json"],
    "sources-list": ["sources", "--json"],
    "sources-switch": ["sources", "enable", "hermes", "--path", ".timmy", "--json"],
    "fleet-add-token": ["fleet", "add-token", "anna", "--json"],
    "fleet-tokens": ["fleet", "tokens", "--json"],
    "fleet-remove-token": ["fleet", "remove-token", "anna", "--json"],
    "config-set": ["config", "set", "quiet_seconds", "3", "--json"],
}
"""How each document comes to be printed."""

NOT_HERE = {
    "alert-told": "no command prints it: tests/unit/jobs/test_degradation.py",
    "calibration-train": "it takes fifty labelled sessions: tests/e2e/test_calibration.py",
    "changes": "no command prints it: tests/unit/dashboard/test_http_api.py",
    "sessions": "no command prints it: tests/unit/dashboard/test_http_api.py",
    **dict.fromkeys(
        (
            *("dashboard-install", "dashboard-status", "dashboard-uninstall"),
            *("fleet-install", "fleet-service-status", "fleet-uninstall"),
            *("fleet-serve-install", "fleet-serve-status", "fleet-serve-uninstall"),
            *("service-install", "service-status", "service-uninstall"),
        ),
        "it takes systemd: tests/e2e/service",
    ),
    **dict.fromkeys(
        (
            *("push-fleet", "fleet-init", "fleet-add-host", "fleet-remove-host", "fleet-status"),
            *("fleet-add-member", "fleet-remove-member", "fleet-pull"),
        ),
        "it takes PostgreSQL: tests/unit/cli/test_fleet.py",
    ),
    "push": "it takes a receiver: tests/unit/cli/test_push.py",
    "search": "it takes an index: tests/unit/cli/test_search.py",
}


def test_every_document_is_tried() -> None:
    assert {*PRINTED, *NOT_HERE} == {document.name for document in DOCUMENTS}


def test_every_command_that_speaks_json_has_a_document() -> None:
    spoken = {words for words in names() if words not in WITHOUT_JSON and _is_leaf(words)}

    assert {words for document in DOCUMENTS for words in _commands_of(document)} == spoken


def _is_leaf(words: tuple[str, ...]) -> bool:
    return not any(other[:-1] == words and not other[-1].startswith("-") for other in names())


def _commands_of(document: Document) -> set[tuple[str, ...]]:
    """Find the commands that a document says print it; behind `alerts ack`, `unack` is `alerts unack`."""
    spans = [span.split() for span in re.findall(r"`([^`]+)`", document.commands)]
    group = spans[0][:-1]
    named = {
        reading for span in spans for reading in (tuple(span[:3]), tuple(span[:2]), tuple(span[:1]), (*group, span[0]))
    }
    return {words for words in named if words in names() and _is_leaf(words)} - WITHOUT_JSON


@pytest.mark.parametrize("name", PRINTED)
def test_document_is_as_its_schema_says(name: str, made: Path, home: Path, run: Run) -> None:
    shutil.copytree(made, home, dirs_exist_ok=True)
    (home / "labels.csv").write_text("session_id,task_completed\ndemo_07,no\n")
    arguments = PRINTED[name]
    if name == "backup-restore":
        run(home, "backup", "create", "copy.bak")
    if name.startswith("hook-"):
        (home / ".codex").mkdir()
    if name == "hook-uninstall":
        run(home, "hook", "install", "codex", "--yes")
    if name in ("trial-status", "trial-stop"):
        run(home, "changes", "trial", "start", "deploy", "--yes")
    if name.startswith("fleet-"):
        run(home, "config", "set", "fleet_read_url", "postgresql://127.0.0.1/grader")
    if name in ("fleet-tokens", "fleet-remove-token"):
        run(home, "fleet", "add-token", "anna")
    if "ISSUE" in arguments:
        issues = json.loads(run(home, "report", "errors", "list", "-d", "30", "--json").stdout)["issues"]
        arguments = [issues[0]["fingerprint"] if each == "ISSUE" else each for each in arguments]

    ended = run(home, *arguments)

    documents: list[Any] = [json.loads(line) for line in _documents(ended.stdout, is_lines=name == "grade-line")]
    schema = json.loads((SCHEMAS / f"{name}.json").read_text("utf-8"))
    assert documents, ended.stderr
    assert [place for each in documents for place in misfits(each, schema, root=schema)] == []


def _documents(printed: str, *, is_lines: bool) -> list[str]:
    return printed.splitlines() if is_lines else [printed]


@pytest.mark.parametrize(
    ("value", "found"),
    [
        pytest.param({"path": "a", "exists": True, "schema_version": 1}, [], id="as-it-is-said"),
        pytest.param({"path": "a", "schema_version": 1}, [".exists is missing"], id="a-key-is-missing"),
        pytest.param({"path": 1, "exists": True, "schema_version": 1}, [".path: 1 is no string"], id="another-type"),
        pytest.param(
            {"path": "a", "exists": 1, "schema_version": 1}, [".exists: 1 is no boolean"], id="one-is-not-true"
        ),
        pytest.param({"path": "a", "exists": True, "schema_version": 2}, [".schema_version: 2"], id="another-constant"),
        pytest.param(
            {"path": "a", "exists": True, "schema_version": 1, "new": 1}, [".new is not in the schema"], id="a-new-key"
        ),
    ],
)
def test_what_a_schema_does_not_say_is_found(value: Any, found: list[str]) -> None:
    schema = json.loads((SCHEMAS / "config-path.json").read_text("utf-8"))

    assert list(misfits(value, schema, root=schema)) == found
