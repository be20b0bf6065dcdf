"""What a session costs that grows while the daemon watches: 5 MB in 500 writes.

Run it as ``python -m tests.benchmarks.growing``. It starts ``grader-daemon run`` with its usual settings and writes one
session again and again, each time with a few messages more, as Hermes does after each round of tool calls. ``--every``
says how many seconds apart: more than the quiet time of 2 s, so that a small session would be graded after each.
Measured is the CPU of the daemon and of the processes that it starts, from the first write to the grade of the last.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator
from pathlib import Path

import msgspec

from tests.benchmarks.machine import (
    Figure,
    add_folder_option,
    at_most,
    print_figures,
    print_machine,
    progress,
    progress_done,
    work_folder,
)
from tests.benchmarks.process import Sandbox, make_sandbox
from tests.benchmarks.sessions import Json, make_session
from tests.benchmarks.soak import is_caught_up, write_snapshot
from tests.benchmarks.targets import GROWING_CPU_SECONDS


def states(size: int, writes: int) -> Iterator[tuple[str, Json]]:
    """Give the session as it stands after each write: id and content."""
    made = make_session(size, seed=1)
    whole = msgspec.json.decode(made.content, type=Json)
    messages = whole["messages"]
    for write in range(1, writes + 1):
        kept = messages[: len(messages) * write // writes]
        yield made.session_id, whole | {"message_count": len(kept), "messages": kept}


def play(sandbox: Sandbox, *, size: int, writes: int, every: float) -> list[Figure]:
    """Write the session, and say what that cost."""
    with sandbox.daemon() as daemon:
        daemon.wait_for_event("reconcile.finished")
        spent = daemon.cpu_seconds_with_helpers()
        next_write = time.monotonic()
        for number, state in enumerate(states(size, writes), 1):
            progress(f"write {number} of {writes}")
            write_snapshot(sandbox.root, *state)
            next_write += every
            time.sleep(max(0.0, next_write - time.monotonic()))
        last = time.monotonic() - every
        progress_done()
        daemon.wait_until(lambda: is_caught_up(sandbox), "the last write is graded")
        delay = time.monotonic() - last
        spent = daemon.cpu_seconds_with_helpers() - spent
        times = sum(event.get("event") == "session.graded" for event in daemon.events())
    return [
        at_most("processor time of the daemon and its helpers", spent, target=GROWING_CPU_SECONDS, unit="s", digits=2),
        at_most("how often it was graded", times, target=None, unit="", digits=0),
        at_most("last write to its grade", delay, target=None, unit="s"),
    ]


def main() -> None:
    """Parse the arguments, play, print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--size", type=int, default=5_000_000, help="bytes in the end (default: %(default)s)")
    parser.add_argument("--writes", type=int, default=500, help="how many (default: %(default)s)")
    parser.add_argument("--every", type=float, default=2.5, help="seconds between two (default: %(default)s)")
    add_folder_option(parser)
    options = parser.parse_args()
    print_machine()
    with work_folder(options.folder) as folder:
        figures = play(make_sandbox(Path(folder)), size=options.size, writes=options.writes, every=options.every)
    print_figures(figures)


if __name__ == "__main__":
    main()
