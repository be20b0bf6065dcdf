"""``grade --demo``: the product in a few seconds.

Sample sessions, written as an agent writes them, are graded as they finish.
"""

from __future__ import annotations

import json
import os
import tempfile
import threading
import uuid
from collections.abc import Iterator
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from time import monotonic
from typing import Any

import click

from grader_daemon import bootstrap, log
from grader_daemon.api.grader import SelfGrader
from grader_daemon.cli import output
from grader_daemon.cli.grades import grade_table
from grader_daemon.daemon.notify import Notifier
from grader_daemon.daemon.service_loop import Service
from grader_daemon.domain.grade import Grade
from grader_daemon.reports.session_words import of_five, state_words
from grader_daemon.reports.verdicts import brief_verdict
from grader_daemon.settings import Settings, settings_of

_QUIET_SECONDS = 0.5
_BETWEEN_WRITES_SECONDS = 0.15
_PATIENCE_SECONDS = 20.0

Turn = dict[str, Any]


@click.command("--demo")
def command() -> int:
    """Write sample sessions into a temporary folder and grade them with the real daemon. Leaves nothing behind.

    The demo ignores your settings, so it uses no other agent, fleet, webhook or program.
    """
    with tempfile.TemporaryDirectory(prefix="grader-demo-") as folder:
        root = Path(folder) / "sessions"
        root.mkdir()
        database = Path(folder) / "grades" / "session_grades.db"
        settings = settings_of(watch_roots=(root,), db_path=database, quiet_seconds=_QUIET_SECONDS)
        log.configure(level="error", log_format="auto")
        service = Service(settings, Notifier({}))
        daemon = threading.Thread(target=service.run, name="daemon")
        daemon.start()
        try:
            return _show(root, settings)
        finally:
            service.stop()
            daemon.join()


def _show(root: Path, settings: Settings) -> int:
    output.paragraph("", f"A daemon watches {root}. An agent works there:")
    output.line()
    began = monotonic()
    titles: dict[str, str] = {}
    agent = threading.Thread(target=_work_as_agent, args=(root, titles, began), name="agent")
    agent.start()
    try:
        with SelfGrader(settings=settings) as reader:
            return _tell(reader, agent, titles, began)
    finally:
        agent.join()  # it still writes into a folder that is deleted next


def _tell(reader: SelfGrader, agent: threading.Thread, titles: dict[str, str], began: float) -> int:
    for grade in _as_they_come(reader, agent, titles, until=began + _PATIENCE_SECONDS):
        output.paragraph(
            f"  {monotonic() - began:4.1f} s  graded  ",
            f"{titles[grade.session_id]}: {brief_verdict(grade)},"
            f" tools {of_five(grade.efficiency) or '-'}, quality {of_five(grade.quality) or '-'}, {state_words(grade)}",
        )
    agent.join()
    grades = [stored.grade for stored in reader.grades.select()]
    output.line()
    grade_table(grades, short_id=reader.grades.short_id, now=reader.context.now())
    output.line()
    output.paragraph("", "Your own sessions: grader-daemon run. The reasons of a grade: grader-daemon why SESSION.")
    return 0 if len(grades) == len(_SAMPLES) else 1


def _work_as_agent(root: Path, titles: dict[str, str], began: float) -> None:
    for title, turns in _SAMPLES.items():
        started = bootstrap.utc_now().astimezone().replace(tzinfo=None)
        session_id = f"{started:%Y%m%d_%H%M%S}_{uuid.uuid4().hex[:6]}"
        titles[session_id] = title
        _write(root, session_id, started, _linked(turns))
        with suppress(SystemExit):  # who reads no more is told nothing; only the main thread ends a program
            output.line(f"  {monotonic() - began:4.1f} s  wrote   {title}")


def _as_they_come(
    reader: SelfGrader, agent: threading.Thread, titles: dict[str, str], *, until: float
) -> Iterator[Grade]:
    """Yield each sample's grade when it appears."""
    pause = threading.Event()
    seen: set[str] = set()
    while monotonic() < until and (agent.is_alive() or seen != set(titles)):
        for stored in reversed(reader.grades.select()):
            if stored.grade.session_id not in seen:
                seen.add(stored.grade.session_id)
                yield stored.grade
        pause.wait(0.05)


def _write(root: Path, session_id: str, started: datetime, turns: list[Turn]) -> None:
    """Write a session as Hermes does: the whole file anew after every turn, a temporary file renamed into place."""
    pause = threading.Event()
    for length in range(1, len(turns) + 1):
        if turns[length - 1]["role"] != "assistant" or length == len(turns):
            _write_once(root, session_id, started, turns[:length])
            pause.wait(_BETWEEN_WRITES_SECONDS)


def _write_once(root: Path, session_id: str, started: datetime, messages: list[Turn]) -> None:
    content = {
        "session_id": session_id,
        "model": "sample-model",
        "platform": "cli",
        "session_start": started.isoformat(),
        "last_updated": bootstrap.utc_now().astimezone().replace(tzinfo=None).isoformat(),
        "message_count": len(messages),
        "messages": messages,
    }
    temporary = root / f".session_{session_id}.tmp"
    temporary.write_text(json.dumps(content, indent=2, ensure_ascii=False), "utf-8")
    os.replace(temporary, root / f"session_{session_id}.json")


def _linked(turns: list[Turn]) -> list[Turn]:
    """Return the turns, each result with the call that it is of."""
    linked: list[Turn] = []
    for turn in turns:
        before = linked[-1].get("tool_calls") if linked else None
        linked.append(turn | {"tool_call_id": before[0]["id"]} if before and turn["role"] == "tool" else turn)
    return linked


def _asked(text: str) -> Turn:
    return {"role": "user", "content": text}


def _called(tool: str, **arguments: Any) -> Turn:
    call = {"id": f"call_{uuid.uuid4().hex[:12]}", "type": "function"}
    function = {"name": tool, "arguments": json.dumps(arguments)}
    return {
        "role": "assistant",
        "content": "",
        "finish_reason": "tool_calls",
        "tool_calls": [call | {"function": function}],
    }


def _returned(tool: str, **result: Any) -> Turn:
    return {"role": "tool", "name": tool, "content": json.dumps(result)}


def _answered(text: str, finish_reason: str = "stop") -> Turn:
    return {"role": "assistant", "content": text, "finish_reason": finish_reason}


_FIXED = """Done: the date parser accepts ISO weeks again, and all tests pass.

```python
def parse_week(text: str) -> date:
    year, week = text.split("-W")
    return date.fromisocalendar(int(year), int(week), 1)
```

The mistake was in `calendar.py`: the week number was read as a month."""

_SAMPLES: dict[str, list[Turn]] = {
    "a bug fix that worked": [
        _asked("Fix the date parser: 2026-W47 is rejected"),
        _called("read_file", path="calendar.py"),
        _returned("read_file", content="def parse_week(text): ...", total_lines=40),
        _called("terminal", command="pytest -q"),
        _returned("terminal", output="1 failed, 11 passed", exit_code=1, error=None),
        _called("patch", path="calendar.py", old_string="month", new_string="week"),
        _returned("patch", success=True, diff="-month\n+week"),
        _called("terminal", command="pytest -q"),
        _returned("terminal", output="12 passed", exit_code=0, error=None),
        _answered(_FIXED),
    ],
    "a deployment that was denied": [
        _asked("Deploy the new release"),
        *(
            turn
            for _ in range(3)
            for turn in (
                _called("terminal", command="./deploy.sh"),
                _returned("terminal", output="deploy.sh: Permission denied", exit_code=126, error=None),
            )
        ),
        _answered("I could not deploy the release: deploy.sh failed each time with a permission problem."),
    ],
    "a report that was cut off": [
        _asked("Document the storage module"),
        _called("read_file", path="storage.py"),
        _returned("read_file", content="class Store: ...", total_lines=200),
        _answered("The storage module keeps its rows in three tab", finish_reason="length"),
    ],
    "a question that is still open": [
        _asked("Look up the latest version of the server image"),
        _called("web_search", query="server image latest version"),
        _returned("web_search", error="Request timed out after 30 s"),
    ],
}
