"""Scores that go out as they are made: a real process that follows the feed, is killed, and goes on where it was."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from grader_daemon import SelfGrader
from tests import demo_home
from tests.e2e.daemon_process import environment
from tests.otlp_receiver import Receiver, attributes, receiving
from tests.waiting import wait_until


@contextmanager
def _following(home: Path, receiver: Receiver) -> Iterator[subprocess.Popen[str]]:
    command = [sys.executable, "-m", "grader_daemon", "export", "scores", "otlp", "--follow"]
    settings = {"otlp_logs_url": receiver.url}
    with subprocess.Popen(command, env=environment(home, settings), stderr=subprocess.PIPE, text=True) as process:
        try:
            yield process
        finally:
            process.kill()


def _contradict(database: Path, receiver: Receiver, session_id: str) -> float:
    """Say the opposite of what was told of a session; give the value that must be told now."""
    said = receiver.scores()[session_id, "task_completed"] == 0.0
    with SelfGrader(db_path=database) as grader:
        grader.labels.add(session_id, completed=said)
    return float(said)


@pytest.mark.slow
def test_scores_follow_their_grades_and_nothing_is_lost_by_a_kill(tmp_path: Path) -> None:
    database = demo_home.make(tmp_path)
    with receiving() as receiver:
        with _following(tmp_path, receiver):
            wait_until(lambda: len(receiver.scores()) == 13 * 3, "all scores")
            first = _contradict(database, receiver, "demo_02")
            wait_until(lambda: receiver.scores()["demo_02", "task_completed"] == first, "the label")
        second = _contradict(database, receiver, "demo_05")
        with _following(tmp_path, receiver) as process:
            wait_until(lambda: receiver.scores()["demo_05", "task_completed"] == second, "what came meanwhile")
            process.send_signal(signal.SIGINT)
            assert process.wait(30) == 130
    told = [attributes(record) for record in receiver.records]
    repeated = len(told) - len({one["log.record.uid"] for one in told})
    assert repeated in (0, 3), "at most the batch that was being sent"


@pytest.mark.slow
def test_a_receiver_that_was_down_gets_everything_when_it_is_back(tmp_path: Path) -> None:
    demo_home.make(tmp_path)
    with receiving() as receiver:
        receiver.answers = [(503, b"")] * 4
        with _following(tmp_path, receiver) as process:
            assert process.stderr is not None
            assert "the receiver answered 503; tried again in 5 s" in process.stderr.readline()
            wait_until(lambda: len(receiver.scores()) == 13 * 3, "all scores")
