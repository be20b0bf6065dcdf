"""A home with a little of everything: sessions of two weeks, failures, labels, an alert, a report."""

from __future__ import annotations

import json
from datetime import timedelta
from pathlib import Path
from typing import Any

from grader_daemon import SelfGrader
from grader_daemon.bootstrap.periodic import make_reports
from grader_daemon.settings import load_settings
from grader_daemon.storage.sqlite.store import SqliteStore
from tests.alert_examples import alert
from tests.e2e.session_files import content, now, replace
from tests.strategies import WORKED, json_answer, json_round, json_user

SESSIONS = Path(".timmy/sessions")
DATABASE = Path(".timmy/uniwizard/session_grades.db")
DENIED = json.dumps({"output": "deploy.sh: Permission denied", "exit_code": 126, "error": None})
MISSING = json.dumps({"output": "cat: notes.md: No such file or directory", "exit_code": 1, "error": None})

_WORK: tuple[tuple[str, str, tuple[str, ...], str], ...] = (
    ("Fix the date parser: 2026-W47 is rejected", "kimi-k2.5", (WORKED, WORKED), "Fixed; all 12 tests pass now."),
    ("Deploy the new release", "hermes-4", (DENIED, DENIED, DENIED), "I could not deploy it: permission denied."),
    ("Write the notes of the meeting", "hermes-4", (MISSING, WORKED), "The notes are written."),
    ("Look up the latest version of the image", "kimi-k2.5", (WORKED,), "It is 4.2."),
)


def make(home: Path) -> Path:
    """Fill a home with sessions and grade them; return its database."""
    for number in range(12):
        task, model, results, said = _WORK[number % len(_WORK)]
        _write(home, f"demo_{number:02d}", days=12 - number, task=task, model=model, results=results, said=said)
    _write(home, "demo_again", days=0.2, task=_WORK[3][0], model="kimi-k2.5", results=(WORKED,), said="It is 4.2.")
    install(home / ".timmy/skills/deploy", "Deploys a release. Use it when a deployment is asked for.")
    (home / SESSIONS / "session_broken.json").write_text('{"session_id": "broken", "messages": 7}')
    with SelfGrader(db_path=home / DATABASE, watch_roots=[home / SESSIONS]) as grader:
        grader.grading.grade_paths([home / SESSIONS])
        grader.labels.add("demo_01", completed=False, note="it never went out")
        grader.labels.add("demo_03", completed=True, quality=4)
    store = SqliteStore(home / DATABASE)
    reports = make_reports(load_settings(db_path=home / DATABASE), store)
    for week in reports.missing(now()):
        reports.write(week, now())
    with store.transaction():
        store.alerts.add(alert(opened_at=now() - timedelta(hours=2)))
    store.close()
    return home / DATABASE


def install(folder: Path, description: str) -> None:
    """Put a skill into a folder."""
    folder.mkdir(parents=True)
    (folder / "SKILL.md").write_text(f"---\nname: {folder.name}\ndescription: {description}\n---\n")


def _write(home: Path, name: str, *, days: float, task: str, model: str, results: tuple[str, ...], said: str) -> None:
    ended = now() - timedelta(days=days)
    rounds: list[dict[str, Any]] = [
        turn
        for number, result in enumerate(results)
        for turn in json_round(
            result, call_id=f"call_{number}", arguments=json.dumps({"command": f"./step.sh {number}"})
        )
    ]
    folder = home / SESSIONS
    folder.mkdir(parents=True, exist_ok=True)
    whole = content(
        name,
        [json_user(task), *rounds, json_answer(said)],
        model=model,
        session_start=(ended - timedelta(minutes=5)).replace(tzinfo=None).isoformat(),
        last_updated=ended.replace(tzinfo=None).isoformat(),
    )
    replace(folder / f"session_{name}.json", whole, age=days * 86_400)
