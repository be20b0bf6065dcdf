"""How long an agent waits for us when it wants to stop, from the start of our program to its end.

Run it as ``python -m tests.benchmarks.hook`` on a quiet machine. Transcripts of Claude Code are made, of 20 KB, 200 KB
and 2 MB; each ends with a claim that the record contradicts. A daemon runs beside; each stop is one of a session that
was told nothing yet. `start` is Python that does nothing, `down` our program without a daemon.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from time import perf_counter

from grader_daemon.hook import ask
from grader_daemon.hook.installation import socket_of
from tests.benchmarks.machine import percentile, print_machine
from tests.transcripts import SESSION, Transcript, call
from tests.waiting import wait_until

_STOPS = 100
_PATIENT = 10_000
_SIZES = {"20 KB": 20_000, "200 KB": 200_000, "2 MB": 2_000_000}


def main() -> None:
    """Print the table."""
    print_machine()
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        place = home / ".timmy" / "uniwizard" / "session_grades.db"
        _print("start", [_timed([sys.executable, "-I", "-S", "-c", "pass"], b"") for _ in range(_STOPS)])
        _print("down", [_timed(_command(place), _stop(home / "none.jsonl")) for _ in range(_STOPS)])
        print(f"memory of a daemon without a hook asked: {_daemon(home, place)} KB more once it was")


def _daemon(home: Path, place: Path) -> int:
    """Time stops of each size beside a daemon; return the kilobytes that it grew by at the first."""
    folder = home / ".claude" / "projects" / "-work"
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": str(home),
        "GRADER_SOURCES": '["hermes", "claude-code"]',
        "GRADER_QUIET_SECONDS": "3600",
    }
    (home / ".timmy").mkdir()
    folder.mkdir(parents=True)
    daemon = subprocess.Popen(
        [sys.executable, "-m", "grader_daemon", "run"],
        env=environment,
        stderr=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
    )
    try:
        wait_until(socket_of(place).exists, "the socket")
        before = _memory(daemon.pid)
        first = _written(folder, 20_000, 0)
        wait_until(lambda: _asked(place, _stop(first)) != b"", "the first answer")
        grown = _memory(daemon.pid) - before
        number = 1
        for name, size in _SIZES.items():
            times = []
            for _ in range(_STOPS):
                payload = _stop(_written(folder, size, number))
                number += 1
                times.append(_timed(_command(place), payload))
            _print(name, times)
        return grown
    finally:
        daemon.terminate()
        daemon.wait()


def _written(folder: Path, size: int, number: int) -> Path:
    """Write a transcript of about a size, of which no daemon knows yet."""
    made = Transcript(sessionId=f"{SESSION[:-6]}{number:06}")
    made.prompt("Fix the parser")
    rounds = 0
    while rounds == 0 or rounds * 6_400 < size:
        rounds += 1
        made.answer(call(f"r{rounds}", "Read", file_path=f"/work/a{rounds}.py"), stop="tool_use")
        made.result(f"r{rounds}", "\n".join(f"line {line} of the module, and a bit more" for line in range(140)))
    made.answer(call("t", command="pytest -q"), stop="tool_use")
    made.result("t", "Exit code 1\n\n1 failed, 2 passed in 0.10s", error=True)
    path = folder / f"{SESSION[:-6]}{number:06}.jsonl"
    made.write(path)
    return path


def _stop(transcript: Path) -> bytes:
    event = {"session_id": SESSION, "transcript_path": str(transcript), "last_assistant_message": "All tests pass."}
    return json.dumps(event).encode()


def _command(place: Path) -> list[str]:
    python = os.path.realpath(sys.executable)
    return [python, "-I", "-S", ask.__file__, str(socket_of(place)), "claude-code", "tell", str(_PATIENT)]


def _asked(place: Path, payload: bytes) -> bytes:
    return subprocess.run(_command(place), input=payload, capture_output=True, check=False).stdout


def _timed(command: Sequence[str], payload: bytes) -> float:
    began = perf_counter()
    subprocess.run(command, input=payload, capture_output=True, check=False)
    return 1000 * (perf_counter() - began)


def _memory(pid: int) -> int:
    """Return the memory that a process holds for itself, in KB."""
    lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    return sum(int(line.split()[1]) for line in lines if line.startswith("Private_"))


def _print(name: str, milliseconds: Sequence[float]) -> None:
    middle, slow = percentile(milliseconds, 0.5), percentile(milliseconds, 0.95)
    print(f"{name:7} p50 {middle:6.1f} ms  p95 {slow:6.1f} ms")


if __name__ == "__main__":
    main()
