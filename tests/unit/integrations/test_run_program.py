from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from grader_daemon.errors import CallError
from grader_daemon.integrations.run_program import ask_program
from tests.programs import WITH_A_CHILD, begin_time_when, is_running
from tests.waiting import PATIENCE_SECONDS, wait_until

MANY = b"x" * 3_000_000


def ask(
    source: str, document: bytes = b"", *arguments: str, timeout: float = PATIENCE_SECONDS, most: int = 5_000_000
) -> bytes:
    return ask_program(
        [sys.executable, "-S", "-c", source, *arguments],
        document,
        environment=dict(os.environ),
        timeout_seconds=timeout,
        most_bytes=most,
    )


@pytest.mark.parametrize(
    ("source", "document", "said"),
    [
        pytest.param("import sys; sys.stdout.write(sys.stdin.read())", MANY, MANY, id="an-echo-of-much"),
        pytest.param("import sys; sys.stdout.write(sys.stdin.read())", b"", b"", id="an-echo-of-nothing"),
        pytest.param("print('x' * 100_000, end='')", MANY, b"x" * 100_000, id="speaks-and-does-not-listen"),
        pytest.param("import sys; sys.stdin.close(); print(1, end='')", MANY, b"1", id="closes-its-input"),
        pytest.param("import sys; sys.stdin.read(10); print(1, end='')", MANY, b"1", id="reads-a-part"),
    ],
)
def test_what_a_program_writes_is_given(source: str, document: bytes, said: bytes) -> None:
    assert ask(source, document) == said


@pytest.mark.parametrize("count", [1000, 1001])
def test_no_more_is_read_than_is_allowed(count: int) -> None:
    if count <= 1000:
        assert len(ask(f"print('x' * {count}, end='')", most=1000)) == count
    else:
        with pytest.raises(CallError, match="more than 1,000 bytes"):
            ask(f"print('x' * {count}, end='')", most=1000)


@pytest.mark.parametrize(
    "end",
    [
        pytest.param("time.sleep(600)", id="waits-itself"),
        pytest.param("pass", id="leaves-its-output-to-a-child"),
        pytest.param("print('x' * 10_000_000)", id="writes-too-much"),
    ],
)
def test_a_program_that_is_cut_off_leaves_nothing_running(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, end: str
) -> None:
    pids = tmp_path / "pids"
    begin_time_when(monkeypatch, pids.exists)

    with pytest.raises(CallError):
        ask(f"{WITH_A_CHILD}{end}", b"", str(pids), timeout=0.2)

    left = [int(pid) for pid in pids.read_text().split()]
    assert len(left) == 2
    wait_until(lambda: not any(map(is_running, left)), "all of it to end")
