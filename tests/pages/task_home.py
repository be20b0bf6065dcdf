"""Files of the home of the tasks of `docs/dashboard.md`: the sample weeks as Claude Code writes sessions.

Other viewers read these files too, and in them it is known what each session cost.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final
from uuid import UUID

from tests.pages.served import AT
from tests.sample_weeks import write_weeks
from tests.strategies import json_answer, json_round, json_user
from tests.transcripts import Line, Transcript, call

SESSIONS: Final = Path(".claude", "projects")
TICKET: Final = "OPS-4711"
"""A name in the answers of `TICKETS` sessions, and nowhere else."""
TICKETS: Final = 12
LONG: Final = "The migration of the ledger fails, find out why"
"""The request of a session of 171 messages."""
FAILED_CALLS: Final = 12
"""So many of its calls fail."""

_EVERY: Final = 65
"""One of so many sessions names the ticket, if it has an answer."""
_MODELS: Final = {
    "hermes-4-14b": "claude-haiku-4-5",
    "hermes-4-70b": "claude-opus-4-5",
    "qwen3-coder": "claude-sonnet-4-5",
}
_TOOLS: Final = {"terminal": "Bash", "read_file": "Read", "write_file": "Write", "patch": "Edit"}
_OUTPUT: Final = ("INFO  Running upgrade", "sqlalchemy.exc.OperationalError: no such column: ledger.owner")
_FOUND: Final = """The revision `4f1c` drops **owner** before the view is made anew:

| revision | drops | needed by |
|---|---|---|
| 4f1c | owner | the view `open_items` |

```python
def upgrade() -> None:
    op.execute("DROP VIEW open_items")
    op.drop_column("ledger", "owner")
```

1. Drop the view first.
2. Make it again after the column is gone."""


def write_task_files(home: Path, *, at: datetime = AT) -> int:
    """Write all sample sessions and a long one into a home, as if the last ended just before `at`; return how many."""
    with TemporaryDirectory() as name:
        write_weeks(Path(name))
        sessions = [json.loads(path.read_bytes()) for path in sorted(Path(name).iterdir())]
    for number, session in enumerate([*sessions, _long_session()]):
        if number % _EVERY == 3 and session["messages"][-1]["role"] == "assistant":
            session["messages"][-1]["content"] += f" It belongs to {TICKET}."
        _write(home, session, number, later=at - AT)
    return len(sessions) + 1


def _long_session() -> dict[str, Any]:
    rounds = [
        each
        for number in range(84)
        for each in json_round(
            json.dumps({"output": _OUTPUT[number % 7 == 5], "exit_code": number % 7 == 5, "error": None}),
            call_id=f"call_{number}",
            arguments=json.dumps({"command": f"alembic upgrade +{number}"}),
        )
    ]
    return {
        "messages": [json_user(f"{LONG} (billing)"), *rounds, json_answer(_FOUND), json_user("Thanks, that is it.")],
        "model": "hermes-4-70b",
        "session_start": (AT - timedelta(days=3, hours=5)).replace(tzinfo=None).isoformat(),
        "last_updated": (AT - timedelta(days=3, hours=3)).replace(tzinfo=None).isoformat(),
    }


def _write(home: Path, session: Mapping[str, Any], number: int, *, later: timedelta) -> None:
    begin = number * 0x9E3779B1 % 2**32  # ids are told apart by their first characters
    session_id = str(UUID(int=(begin << 96) + (0x4000 << 64) + (0x8000 << 48)))
    project = session["messages"][0]["content"].rpartition("(")[2].rstrip(")")
    transcript = Transcript(cwd=f"/home/you/work/{project}", sessionId=session_id)
    for line, message in enumerate(session["messages"]):
        _say(
            transcript,
            message,
            _MODELS[session["model"]],
            key=f"{number:05}_{line:03}",
            last=f"{number:05}_{line - 1:03}",
        )
    began, ended = (
        datetime.fromisoformat(session[each]).replace(tzinfo=UTC) + later for each in ("session_start", "last_updated")
    )
    for said, moment in zip(transcript.lines, _between(began, ended, len(transcript.lines)), strict=True):
        for key in ("uuid", "parentUuid"):
            said[key] = said[key] and f"{session_id[:8]}-{said[key]}"
        said["timestamp"] = f"{moment:%Y-%m-%dT%H:%M:%S}.{moment.microsecond // 1000:03}Z"
    path = home / SESSIONS / f"-home-you-work-{project}" / f"{session_id}.jsonl"
    transcript.write(path)
    os.utime(path, (ended.timestamp(), ended.timestamp()))


def _between(began: datetime, ended: datetime, lines: int) -> Iterator[datetime]:
    for line in range(lines):
        yield began + (ended - began) * line / max(1, lines - 1)


def _say(transcript: Transcript, message: Mapping[str, Any], model: str, *, key: str, last: str) -> None:
    """Add a message; `key` is its own in all files, `last` that of the one before, which a result answers."""
    if message["role"] == "user":
        transcript.prompt(message["content"])
    elif message["role"] == "tool":
        _answer_call(transcript, json.loads(message["content"]), last)
    else:
        used = {"usage": _usage(len(transcript.lines)), "model": model}
        calls = [_call(each["function"], key) for each in message.get("tool_calls", ())]
        said, stop = (calls, "tool_use") if calls else ([message["content"]], "end_turn")
        transcript.answer(*said, answer=f"msg_{key}", stop=stop, **used)


def _call(function: Mapping[str, str], key: str) -> Line:
    given = json.loads(function["arguments"])
    named = {"file_path" if name == "path" else name: value for name, value in given.items()}
    return call(f"toolu_{key}", _TOOLS.get(function["name"], "WebFetch"), **named)


def _answer_call(transcript: Transcript, result: Mapping[str, Any], key: str) -> None:
    code = result.get("exit_code", 0)
    text = next((result[each] for each in ("output", "content", "error", "diff") if result.get(each)), "done")
    is_error = bool(code or result.get("error"))
    transcript.result(f"toolu_{key}", f"Exit code {int(code)}\n{text}" if code else text, error=is_error)


def _usage(line: int) -> dict[str, int]:
    """Return what an answer took: each reads again from the cache all that was said before."""
    return {
        "input_tokens": 40,
        "cache_creation_input_tokens": 1800,
        "cache_read_input_tokens": 9000 + 1800 * line,
        "output_tokens": 350,
    }
