"""Scores in a real Phoenix: what is sent is found there, replaced when it changes, and unknown sessions are told."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any
from urllib.error import URLError

import pytest

from grader_daemon import SelfGrader
from tests import demo_home
from tests.e2e.daemon_process import environment
from tests.needs import require_phoenix
from tests.waiting import wait_until

_STARTS_WITHIN_SECONDS = 90


@contextmanager
def _phoenix(folder: Path) -> Iterator[str]:
    """Run a server on this machine that keeps everything in a folder, and tells nobody."""
    port = _free_port()
    settings = {
        "PHOENIX_WORKING_DIR": str(folder),
        "PHOENIX_HOST": "127.0.0.1",
        "PHOENIX_PORT": str(port),
        "PHOENIX_GRPC_PORT": str(_free_port()),
        "PHOENIX_TELEMETRY_ENABLED": "false",
        "HOME": str(folder),
    }
    with (
        (folder / "log").open("w") as log,
        subprocess.Popen([require_phoenix(), "serve"], env=settings, stdout=log, stderr=log) as process,
    ):
        try:
            wait_until(lambda: _is_up(f"http://127.0.0.1:{port}"), "Phoenix", within=_STARTS_WITHIN_SECONDS)
            yield f"http://127.0.0.1:{port}"
        finally:
            process.kill()


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _is_up(url: str) -> bool:
    with suppress(URLError, ConnectionError):
        return _asked(f"{url}/v1/projects") is not None
    return False


def _asked(url: str, body: Any = None) -> Any:
    sent = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(url, sent, {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=10) as answer:
        return json.load(answer)["data"] if body is None else answer.status


def _trace(url: str, *sessions: str) -> None:
    """Have it know sessions, each by a span, as an agent that is traced has it."""
    _asked(f"{url}/v1/projects", {"name": "agents"})
    spans = [
        {
            "name": "turn",
            "context": {"trace_id": f"{number:032x}", "span_id": f"{number:016x}"},
            "span_kind": "AGENT",
            "start_time": "2026-11-23T10:00:00+00:00",
            "end_time": "2026-11-23T10:00:05+00:00",
            "status_code": "OK",
            "attributes": {"session.id": session},
        }
        for number, session in enumerate(sessions, 1)
    ]
    _asked(f"{url}/v1/projects/agents/spans", {"data": spans})
    wait_until(lambda: len(_asked(f"{url}/v1/projects/agents/sessions")) == len(sessions), "sessions in Phoenix")


def _scores(url: str, *sessions: str) -> dict[tuple[str, str], Any]:
    asked = "&".join(f"session_ids={session}" for session in sessions)
    found = _asked(f"{url}/v1/projects/agents/session_annotations?limit=1000&{asked}")
    return {(one["session_id"], one["name"]): one for one in found}


def _push(home: Path, url: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "grader_daemon", "export", "scores", "phoenix"]
    settings = environment(home, {"phoenix_url": url})
    return subprocess.run(command, env=settings, capture_output=True, text=True, timeout=60, check=False)


@pytest.mark.releases
@pytest.mark.timeout(240)
def test_a_real_phoenix_keeps_the_scores_of_the_sessions_that_it_knows(tmp_path: Path) -> None:
    require_phoenix()
    home, kept = tmp_path / "home", tmp_path / "phoenix"
    home.mkdir()
    kept.mkdir()
    database = demo_home.make(home)
    with SelfGrader(db_path=database) as grader:
        newest = [stored.grade.session_id for stored in grader.grades.select()][:10]
    known = newest[:4]
    with _phoenix(kept) as url:
        refused = _push(home, url)
        assert refused.returncode == 2
        assert "Phoenix knows 0 of your 10 newest sessions" in refused.stderr

        _trace(url, *known)
        sent = _push(home, url)
        assert sent.returncode == 0, sent.stderr
        assert sent.stdout.endswith("Sent 4 sessions, skipped 9.\n")
        assert "Phoenix does not know" in sent.stderr
        before = _scores(url, *known)

        contradicted, _ = next(name for name, one in before.items() if name[1] == "task_completed")
        said = before[contradicted, "task_completed"]["result"]["score"] == 0.0
        with SelfGrader(db_path=database) as grader:
            grader.labels.add(contradicted, completed=said)
        assert _push(home, url).stdout.endswith("Sent 1 session.\n")
        after = _scores(url, *known)

    assert set(before) == set(after)
    assert {name for _, name in before} == {"task_completed", "response_quality", "tool_calls_efficient"}
    replaced = after[contradicted, "task_completed"]
    assert replaced["id"] == before[contradicted, "task_completed"]["id"]
    assert replaced["result"]["score"] == float(said)
    assert replaced["metadata"]["verdict_by"] == "person"
