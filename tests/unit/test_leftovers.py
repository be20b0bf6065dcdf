"""The guard around tests notices what they leave."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Iterator

import pytest

from tests.leftovers import nothing_left


@pytest.fixture
def event() -> Iterator[threading.Event]:
    """Set at the end."""
    made = threading.Event()
    yield made
    made.set()


def test_a_thread_that_goes_on_is_left_behind(event: threading.Event, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tests.leftovers._PATIENCE_SECONDS", 0.01)
    with pytest.raises(AssertionError, match="thread goes on"), nothing_left():
        threading.Thread(target=event.wait, name="goes on").start()


def test_a_thread_that_is_about_to_end_is_waited_for() -> None:
    with nothing_left():
        threading.Timer(0.05, lambda: None).start()


def test_a_process_that_nobody_waits_for_is_left_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tests.leftovers._PATIENCE_SECONDS", 0.01)
    with pytest.raises(AssertionError, match="process"), nothing_left():
        child = subprocess.Popen([sys.executable, "-S", "-c", ""])
    child.wait()


def test_an_open_file_is_left_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tests.leftovers._PATIENCE_SECONDS", 0.01)
    with pytest.raises(AssertionError, match="/dev/null"), nothing_left():
        descriptor = os.open("/dev/null", os.O_RDONLY)
    os.close(descriptor)
