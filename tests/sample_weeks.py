"""Eight weeks of made-up sessions, the same on every machine: what the pictures of the documents are made from.

Each kind of work has a way in which it goes well and one in which it does not. How often is drawn for each week from a
seed. After five weeks the usual model is swapped for a larger one, with which most goes well; in the last week
deployments go wrong far more often: so a report has something to say.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random
from typing import Any

from tests.strategies import document, json_answer, json_round, json_user

WEEK = "2026-W45"
"""The last of the eight weeks."""

_LAST_MONDAY = datetime(2026, 11, 2, tzinfo=UTC)
_WEEKS = 8
_SESSIONS_A_WEEK = 90
_SEED = 13
"""Chosen, of some: with it the swap is a sure difference, the newest session an export, and the overview one screen."""
_MODELS = (*("hermes-4-14b",) * 9, "qwen3-coder")
_MODELS_SINCE = (*("hermes-4-70b",) * 9, "qwen3-coder")
_SWAP_WEEK = 5
"""From this week on, counted from 0, the models are others."""
_WORSE_BEFORE = 0.6
"""So much more of the work went wrong before: probabilities differ by less, and the difference is to be a sure one."""
_PLATFORMS = ("cli", "cli", "telegram")
_PLACES = ("billing", "intranet", "shop", "stock", "website")
"""For what work is asked: where setups are compared, the same request counts once a week."""

Turns = list[dict[str, Any]]


@dataclass(frozen=True, slots=True)
class _Work:
    """One kind of work: how often it is asked for, how often it goes wrong, and what each looks like."""

    tasks: tuple[str, ...]
    well: tuple[Turns, str]
    badly: tuple[Turns, str]
    share: int
    goes_wrong: float
    goes_wrong_last: float


def write_weeks(folder: Path, *, last: int | None = None) -> int:
    """Write all sessions, or the `last` ones, into a folder, each file as old as its session; return how many."""
    folder.mkdir(parents=True, exist_ok=True)
    written = 0
    by_end = sorted(_sessions(), key=lambda each: each[1])
    for session_id, ended, content in by_end if last is None else by_end[-last:]:
        path = folder / f"session_{session_id}.json"
        path.write_bytes(content)
        os.utime(path, (ended.timestamp(), ended.timestamp()))
        written += 1
    return written


def _sessions() -> Iterator[tuple[str, datetime, bytes]]:
    random = Random(_SEED)
    for week in range(_WEEKS):
        monday = _LAST_MONDAY - timedelta(weeks=_WEEKS - 1 - week)
        for _ in range(_SESSIONS_A_WEEK + random.randrange(-12, 13)):
            work = random.choices(_WORK, [one.share for one in _WORK])[0]
            wrong = random.random() < _goes_wrong(work, week)
            models = _MODELS if week < _SWAP_WEEK else _MODELS_SINCE
            yield _session(random, monday, work, model=random.choice(models), wrong=wrong)


def _goes_wrong(work: _Work, week: int) -> float:
    if week == _WEEKS - 1:
        return work.goes_wrong_last
    return work.goes_wrong if week >= _SWAP_WEEK else work.goes_wrong + _WORSE_BEFORE


def _session(random: Random, monday: datetime, work: _Work, *, model: str, wrong: bool) -> tuple[str, datetime, bytes]:
    start = monday + timedelta(
        days=random.choice((0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 6)), seconds=random.randrange(7 * 3600, 19 * 3600)
    )
    turns, answer = work.badly if wrong else work.well
    ended = start + timedelta(seconds=random.randrange(20, 60) * (1 + len(turns) // 2))
    session_id = f"{start:%Y%m%d_%H%M%S}_{random.randrange(16**6):06x}"
    task = f"{random.choice(work.tasks)} ({random.choice(_PLACES)})"
    messages = [json_user(task), *_numbered(turns), *([json_answer(answer)] if answer else [])]
    content = document(
        messages,
        session_id=session_id,
        model=model,
        platform=random.choice(_PLATFORMS),
        session_start=start.replace(tzinfo=None).isoformat(),
        last_updated=ended.replace(tzinfo=None).isoformat(),
    )
    return session_id, ended, content


def _numbered(turns: Turns) -> Turns:
    """Name each call anew, so that no two calls of a session share an id."""
    text = json.dumps(turns)
    for number in range(len(turns) // 2):
        text = text.replace('"call_NUMBER"', f'"call_{number}"', 3)
    return list(json.loads(text))


def _call(tool: str, result: dict[str, Any], **arguments: Any) -> Turns:
    return json_round(json.dumps(result), call_id="call_NUMBER", tool=tool, arguments=json.dumps(arguments))


def _shell(command: str, output: str = "", exit_code: int = 0) -> Turns:
    return _call("terminal", {"output": output, "exit_code": exit_code, "error": None}, command=command)


def _read(path: str, content: str) -> Turns:
    return _call("read_file", {"content": content, "total_lines": 40}, path=path)


def _patch(path: str, old: str, new: str) -> Turns:
    return _call("patch", {"success": True, "diff": f"-{old}\n+{new}"}, path=path, old_string=old, new_string=new)


_RED = (
    "FAILED tests/test_export.py::test_empty_table - IndexError: list index out of range\n1 failed, 11 passed in 0.41s"
)
_DENIED = "./deploy.sh: line 12: /srv/app/current: Permission denied"
_PARSER = "def parse_week(text): ..."
_FIXED = """Done: the date parser accepts ISO weeks again, and all tests pass.

```python
def parse_week(text: str) -> date:
    year, week = text.split("-W")
    return date.fromisocalendar(int(year), int(week), 1)
```

The week number was read as a month in `calendar.py`."""

_WORK = (
    _Work(
        tasks=(
            "Fix the date parser: 2026-W47 is rejected",
            "Fix the calendar: weeks are shifted by one",
            "The reminder of Monday is missing, debug that",
            "Fix the week view, it fails in January",
        ),
        well=(
            [
                *_read("calendar.py", _PARSER),
                *_shell("pytest -q", "1 failed, 11 passed in 0.38s", 1),
                *_patch("calendar.py", "month", "week"),
                *_shell("pytest -q", "12 passed in 0.35s"),
            ],
            _FIXED,
        ),
        badly=(
            [
                *_read("calendar.py", _PARSER),
                *_patch("calendar.py", "month", "weeks"),
                *_shell("pytest -q", "3 failed, 9 passed in 0.37s", 1),
                *_patch("calendar.py", "weeks", "week_of"),
                *_shell("pytest -q", "3 failed, 9 passed in 0.37s", 1),
            ],
            "I could not fix the date parser: three tests still fail, and I do not see why.",
        ),
        share=28,
        goes_wrong=0.2,
        goes_wrong_last=0.22,
    ),
    _Work(
        tasks=(
            "Implement the CSV export of the table",
            "Add a feature: the table as CSV, with tests",
            "Build an export of the sales table",
        ),
        well=(
            [
                *_read("table.py", "class Table: ..."),
                *_call("write_file", {"bytes_written": 912}, path="export.py", content="import csv"),
                *_shell("pytest -q", _RED, 1),
                *_patch("export.py", "rows[0]", "rows[:1]"),
                *_shell("pytest -q", "12 passed in 0.40s"),
            ],
            "Done. I've written `export.py`; an empty table gives the line of headings alone. All 12 tests pass.",
        ),
        badly=(
            [
                *_read("table.py", "class Table: ..."),
                *_call("write_file", {"bytes_written": 907}, path="export.py", content="import csv"),
                *_shell("pytest -q", _RED, 1),
            ],
            "Done. I've written `export.py`. All 12 tests pass.",
        ),
        share=18,
        goes_wrong=0.2,
        goes_wrong_last=0.2,
    ),
    _Work(
        tasks=("Deploy the new release", "Deploy v1.4 to production", "Publish the release of today"),
        well=(
            [*_shell("git push origin v1.4", "new tag v1.4 -> v1.4"), *_shell("./deploy.sh v1.4", "v1.4 is live")],
            "Done: v1.4 is deployed, and the health check answers with 200.",
        ),
        badly=(
            [*_shell("git push origin v1.4", "new tag v1.4 -> v1.4"), *_shell("./deploy.sh v1.4", _DENIED, 126) * 3],
            "I could not deploy the release: deploy.sh failed each time with a permission problem.",
        ),
        share=16,
        goes_wrong=0.12,
        goes_wrong_last=0.75,
    ),
    _Work(
        tasks=(
            "Look up the latest version of the server image",
            "Research which server image we should use",
            "Investigate whether the server image is outdated",
        ),
        well=(
            [
                *_call(
                    "browser_navigate", {"error": "Navigation timeout of 30000 ms exceeded"}, url="https://hub.example"
                ),
                *_shell("curl -s https://hub.example/v2/server/tags/list", '{"tags": ["8.1", "8.2"]}'),
            ],
            "The latest version of the server image is 8.2, by the list of tags at https://hub.example/v2/server/tags/list.",
        ),
        badly=(
            [
                *_call(
                    "browser_navigate", {"error": "Navigation timeout of 30000 ms exceeded"}, url="https://hub.example"
                ),
                *_call(
                    "browser_navigate", {"error": "Navigation timeout of 30000 ms exceeded"}, url="https://hub.example"
                ),
            ],
            "I was unable to open the page, so I cannot say which version is the latest.",
        ),
        share=20,
        goes_wrong=0.35,
        goes_wrong_last=0.4,
    ),
    _Work(
        tasks=("Document the storage module", "Write docstrings for storage.py", "Document what each table holds"),
        well=(
            [
                *_read("storage.py", "class Store: ..."),
                *_call("write_file", {"bytes_written": 3120}, path="docs/storage.md", content="# Storage"),
            ],
            "The storage module is documented in `docs/storage.md`: what each table holds, and who writes it.",
        ),
        badly=(_read("storage.py", "class Store: ..."), ""),
        share=18,
        goes_wrong=0.1,
        goes_wrong_last=0.1,
    ),
)
