"""What sessions cost that share something: a start, a chain, a conversation, a request, an id.

Run it as ``python -m tests.benchmarks.shared`` in the repository. Of each kind, 4,000 files are graded in one process,
in batches of 100 into a new database, by CPU time: in the order of their names, and in a random one. The ratio is to
4,000 sessions that share nothing, graded in the same order just before and just after.
"""

from __future__ import annotations

import argparse
import random
import shutil
import sys
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from time import process_time
from typing import Any, NamedTuple

from grader_daemon import bootstrap
from grader_daemon.settings import load_settings
from tests.benchmarks import machine
from tests.benchmarks.targets import SHARED_CHAIN, SHARED_START
from tests.strategies import document, json_answer, json_round, json_user
from tests.units import units

_COUNT = 4_000
_BATCH = 100
_DAY = datetime(2026, 11, 21, 6, 0, 0, 123_456, UTC)
_SUMMARY = json_user("[CONTEXT COMPACTION — REFERENCE ONLY] Earlier turns were compacted")


def main() -> int:
    """Measure every kind; exit code 1 if one misses its target."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sessions", type=int, default=_COUNT, help="of each kind (default: %(default)s)")
    machine.add_folder_option(parser)
    arguments = parser.parse_args()
    machine.print_machine()
    rows, missed = [], False
    with machine.work_folder(arguments.folder) as folder:
        machine.forget_settings(folder)
        _cpu_seconds(folder, _distinct, 100, shuffled=False)  # what is made once is nobody's cost
        orders = {"by name": False, "random": True}
        before = {
            order: _cpu_seconds(folder, _distinct, arguments.sessions, shuffled=orders[order]) for order in orders
        }
        for kind in _KINDS:
            for order, shuffled in orders.items():
                machine.progress(f"{kind.name}, {order}")
                seconds = _cpu_seconds(folder, kind.fields, arguments.sessions, shuffled=shuffled)
                after = _cpu_seconds(folder, _distinct, arguments.sessions, shuffled=shuffled)
                ratio, before[order] = 2 * seconds / (before[order] + after), after
                missed = missed or ratio > kind.target
                met = machine.verdict(ratio <= kind.target)
                rows.append((kind.name, order, f"{seconds:.2f}", f"{ratio:.2f}", f"{kind.target:g}", met))
    machine.progress_done()
    machine.print_table(("sessions that share", "order", "CPU s", "of distinct ones", "target", ""), rows)
    return int(missed)


def _cpu_seconds(folder: Path, fields: Callable[[int], dict[str, Any]], count: int, *, shuffled: bool) -> float:
    """Give what it takes to grade `count` files with these fields, in seconds."""
    root = folder / "root"
    paths = [_write(root, number, fields(number)) for number in range(count)]
    if shuffled:
        random.Random(count).shuffle(paths)
    store = bootstrap.open_store(load_settings(db_path=folder / "database" / "grades.db"))
    try:
        ingest = bootstrap.make_ingest(load_settings(), store, policy=bootstrap.make_policy(load_settings(), store))
        began = process_time()
        for start in range(0, count, _BATCH):
            ingest.ingest(units(paths[start : start + _BATCH]), within_seconds=float("inf"))
        return process_time() - began
    finally:
        store.close()
        shutil.rmtree(root)
        shutil.rmtree(folder / "database")


def _write(root: Path, number: int, fields: dict[str, Any]) -> str:
    path = root / f"{number:05}" / f"session_{fields['session_id']}.json"
    path.parent.mkdir(parents=True)
    path.write_bytes(document(**fields))
    return str(path)


def _at(seconds: float) -> str:
    return (_DAY + timedelta(seconds=seconds)).isoformat()


def _turns(task: str, call_id: str, *, summed_up: bool = False) -> list[dict[str, Any]]:
    summary = [_SUMMARY] if summed_up else []
    return [json_user(task), *summary, *json_round(call_id=call_id), *json_round(call_id=f"{call_id}_b"), json_answer()]


def _distinct(number: int) -> dict[str, Any]:
    return {
        "session_id": f"s{number:05}",
        "session_start": _at(number),
        "last_updated": _at(number + 0.5),
        "messages": _turns(f"Fix the tests of module m{number} in f{number}.py", f"call_4c637ca{number:05}"),
    }


def _one_start(number: int) -> dict[str, Any]:
    return _distinct(number) | {"session_start": _at(0)}


def _one_start_and_end(number: int) -> dict[str, Any]:
    return _distinct(number) | {"session_start": _at(0), "last_updated": _at(0)}


def _one_request(number: int) -> dict[str, Any]:
    return _one_start_and_end(number) | {
        "session_start": _at(number),
        "last_updated": _at(_COUNT),
        "messages": _turns("Fix the tests", f"call_4c637ca{number:05}"),
    }


def _one_conversation(number: int) -> dict[str, Any]:
    return _distinct(number) | {
        "session_start": _at(number / _COUNT),
        "last_updated": _at(number + 1),
        "messages": _turns("Fix the tests", "call_4c637ca0beac"),
    }


def _copies_of_a_conversation(number: int) -> dict[str, Any]:
    return _distinct(number) | {"messages": _turns("Fix the tests", "call_4c637ca0beac")}


def _link(number: int) -> dict[str, Any]:
    """Of a chain in which every link is left open."""
    messages = _turns("Fix the tests", f"call_4c637ca{number:05}")[:-1]
    return _distinct(number) | {"session_start": _at(0), "messages": messages}


def _answered_link(number: int) -> dict[str, Any]:
    messages = _turns("Fix the tests", f"call_4c637ca{number:05}")
    return _distinct(number) | {"session_start": _at(0), "messages": messages}


def _summing_link(number: int) -> dict[str, Any]:
    messages = _turns("Fix the tests", f"call_4c637ca{number:05}", summed_up=True)
    return _distinct(number) | {"session_start": _at(0), "messages": messages}


def _copy(_: int) -> dict[str, Any]:
    return _distinct(0)


class _Kind(NamedTuple):
    """Files that share something: what is in the one of a number, and what they may cost of distinct ones."""

    name: str
    fields: Callable[[int], dict[str, Any]]
    target: float


_KINDS = (
    _Kind("a start", _one_start, SHARED_START),
    _Kind("a start and an end", _one_start_and_end, SHARED_START),
    _Kind("a request", _one_request, SHARED_START),
    _Kind("a conversation, at the same time", _one_conversation, SHARED_CHAIN),
    _Kind("a conversation, one after the other", _copies_of_a_conversation, SHARED_CHAIN),
    _Kind("a chain of open links", _link, SHARED_CHAIN),
    _Kind("a chain of answered links", _answered_link, SHARED_CHAIN),
    _Kind("a chain of links that sum up", _summing_link, SHARED_CHAIN),
    _Kind("an id: copies", _copy, SHARED_CHAIN),
)


if __name__ == "__main__":
    sys.exit(main())
