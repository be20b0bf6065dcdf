"""What the program costs when it has nothing to do, at its largest, and each time it is called.

Run it as ``python -m tests.benchmarks.footprint``.

1. Idle: a daemon watches 10,000 folders, and has graded sessions if ``--graded`` says so. Resident memory, and CPU over
   65 seconds (so that a scan is among them), from the scheduler's own count of every thread
   (``/proc/PID/task/*/schedstat``, in nanoseconds).
2. Largest: ``grader-daemon grade FILE --dry-run --json`` of one session of 100 MB. Peak memory of the process
   (`ru_maxrss`) less that of the same command for a session of 20 KB, per byte of the file.
3. Called: user and system time of ``grader-daemon --help``, of ``grader-daemon status`` and of a Tab behind
   ``grader-daemon show``, with a database of 4,000 sessions, the median of 10; beside it that of an empty Python
   program.
4. Asked: the same of ``grader-daemon mcp``, from its start to its end, when an agent opens the conversation and lists
   the tools, and when it also asks for sessions like its task; and its peak memory.
"""

from __future__ import annotations

import argparse
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import msgspec

from grader_daemon.settings import load_settings
from tests.benchmarks.machine import (
    Figure,
    add_folder_option,
    at_most,
    forget_settings,
    print_figures,
    print_machine,
    progress,
    progress_done,
    work_folder,
)
from tests.benchmarks.multiplied import make_database
from tests.benchmarks.process import Sandbox, Usage, make_sandbox
from tests.benchmarks.targets import (
    HELP_CPU_MILLISECONDS,
    IDLE_CPU_PERCENT,
    IDLE_MEGABYTES,
    MCP_CPU_MILLISECONDS,
    MCP_MEGABYTES,
    MEMORY_PER_BYTE,
    STATUS_CPU_MILLISECONDS,
)

_NOT_RUNNING = 3
_SESSIONS, _GRADED = 4_000, 400
_TAB = {"_GRADER_DAEMON_COMPLETE": "bash_complete", "COMP_WORDS": "grader-daemon show ", "COMP_CWORD": "2"}
_SETTLE_SECONDS = 13.0
_OPENING = (
    {"method": "initialize", "params": {"protocolVersion": "2025-11-25", "capabilities": {}}},
    {"method": "tools/list"},
)
_TASK = "Deploy the script to the channel server"
_RECALL = {"method": "tools/call", "params": {"name": "recall", "arguments": {"task": _TASK}}}


def idle(sandbox: Sandbox, *, folders: int, graded: int, seconds: float) -> list[Figure]:
    """Watch many folders in which nothing happens, after the sessions in one of them were graded."""
    for number in range(folders):
        (sandbox.root / f"home{number // 100}" / str(number)).mkdir(parents=True)
    if graded:
        _write_elsewhere(sandbox.root, size=20_000, count=graded)
    with sandbox.daemon() as daemon:
        report = daemon.wait_for_event("reconcile.finished")
        daemon.wait_until(lambda: sandbox.count_grades() == graded, "all are graded")
        time.sleep(_SETTLE_SECONDS)
        cpu, began = daemon.cpu_seconds(), time.monotonic()
        progress(f"watching an idle daemon for {seconds:.0f} s")
        time.sleep(seconds)
        percent = 100 * (daemon.cpu_seconds() - cpu) / (time.monotonic() - began)
        progress_done()
        resident = daemon.resident_bytes()
        while_running = sandbox.command("status").cpu_seconds * 1000
    return [
        at_most("idle: folders watched", report["folders"], target=None, unit="", digits=0),
        at_most(f"  CPU over {seconds:.0f} s", percent, target=IDLE_CPU_PERCENT, unit="%", digits=3),
        at_most("  resident memory", resident / 1e6, target=IDLE_MEGABYTES, unit="MB"),
        at_most("  CPU of one status command", while_running, target=None, unit="ms", digits=0),
    ]


def largest(sandbox: Sandbox, *, size: int) -> list[Figure]:
    """Grade one very large session and a small one, and compare."""
    progress(f"writing a session of {size:,} bytes")
    small, large = (_written_elsewhere(sandbox, size=each) for each in (20_000, size))
    progress_done()
    baseline = sandbox.command("grade", str(small), "--dry-run", "--json")
    usage = sandbox.command("grade", str(large), "--dry-run", "--json")
    written = large.stat().st_size
    per_byte = (usage.peak_bytes - baseline.peak_bytes) / written
    return [
        at_most(f"session of {written / 1e6:,.0f} MB: peak memory", usage.peak_bytes / 1e6, target=None, unit="MB"),
        at_most("  with a session of 20 KB", baseline.peak_bytes / 1e6, target=None, unit="MB"),
        at_most("  difference per byte of input", per_byte, target=MEMORY_PER_BYTE, unit="bytes", digits=2),
        at_most("  CPU", usage.cpu_seconds - baseline.cpu_seconds, target=None, unit="s", digits=2),
    ]


def _written_elsewhere(sandbox: Sandbox, *, size: int) -> Path:
    """Written by another process: what this one needs for it would stay with it."""
    folder = sandbox.folder / str(size)
    _write_elsewhere(folder, size=size, count=1)
    return next(folder.iterdir())


def _write_elsewhere(folder: Path, *, size: int, count: int) -> None:
    words = ("--size", str(size), "--count", str(count), "--folder", str(folder))
    subprocess.run((sys.executable, "-m", "tests.benchmarks.sessions", *words), check=True)


def called(sandbox: Sandbox, *, times: int) -> list[Figure]:
    """CPU of small commands; a database is there, the daemon is not."""
    settings = load_settings(db_path=str(sandbox.database), watch_roots=[str(sandbox.root)])
    make_database(settings, sandbox.root, sessions=_SESSIONS, graded=_GRADED)
    tab = make_sandbox(sandbox.folder, settings=_TAB)
    of_help = statistics.median(sandbox.command("--help").cpu_seconds for _ in range(times))
    of_status = statistics.median(sandbox.command("status", allowed=(_NOT_RUNNING,)).cpu_seconds for _ in range(times))
    of_tab = statistics.median(tab.command().cpu_seconds for _ in range(times))
    of_nothing = statistics.median(_cpu_of_nothing() for _ in range(times))
    return [
        at_most("grader-daemon --help: CPU", of_help * 1000, target=HELP_CPU_MILLISECONDS, unit="ms"),
        at_most("grader-daemon status: CPU", of_status * 1000, target=STATUS_CPU_MILLISECONDS, unit="ms"),
        at_most("a Tab behind grader-daemon show: CPU", of_tab * 1000, target=None, unit="ms"),
        at_most("python -c pass: CPU", of_nothing * 1000, target=None, unit="ms"),
    ]


def asked(sandbox: Sandbox, *, times: int) -> list[Figure]:
    """CPU and memory of an agent's questions about earlier sessions; the database is that of `called`."""
    opened, recalled = (
        [sandbox.command("mcp", given=_lines(*messages)) for _ in range(times)]
        for messages in (_OPENING, (*_OPENING, _RECALL))
    )
    return [
        at_most("grader-daemon mcp, tools listed: CPU", _cpu(opened), target=MCP_CPU_MILLISECONDS, unit="ms"),
        at_most("  and a question answered: CPU", _cpu(recalled), target=MCP_CPU_MILLISECONDS, unit="ms"),
        at_most("  peak memory", max(u.peak_bytes for u in recalled) / 1e6, target=MCP_MEGABYTES, unit="MB"),
    ]


def _lines(*messages: dict[str, object]) -> bytes:
    named = ({"jsonrpc": "2.0", "id": number, **message} for number, message in enumerate(messages))
    return b"".join(msgspec.json.encode(message) + b"\n" for message in named)


def _cpu(usages: Sequence[Usage]) -> float:
    return 1000 * statistics.median(usage.cpu_seconds for usage in usages)


def _cpu_of_nothing() -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run((sys.executable, "-c", "pass"), check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> None:
    """Parse the arguments, measure, print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folders", type=int, default=10_000, help="folders watched (default: %(default)s)")
    parser.add_argument("--graded", type=int, default=0, help="sessions graded before (default: %(default)s)")
    parser.add_argument("--seconds", type=float, default=65.0, help="how long to watch them (default: %(default)s)")
    parser.add_argument(
        "--size", type=int, default=100_000_000, help="bytes of the large session (default: %(default)s)"
    )
    parser.add_argument("--times", type=int, default=10, help="calls of a small command (default: %(default)s)")
    add_folder_option(parser)
    options = parser.parse_args()
    print_machine()
    with work_folder(options.folder) as folder:
        forget_settings(folder)
        results = called(make_sandbox(folder / "called"), times=options.times)
        results += asked(make_sandbox(folder / "called"), times=options.times)
        results += largest(make_sandbox(folder / "largest"), size=options.size)
        sandbox = make_sandbox(folder / "idle")
        results += idle(sandbox, folders=options.folders, graded=options.graded, seconds=options.seconds)
    print_figures(results)


if __name__ == "__main__":
    main()
