"""A real proxy of LiteLLM whose plugin goes by what a real daemon makes of the sessions that its choices left.

Run it as ``python -m tests.benchmarks.litellm_proxy [--minutes N] [--rate N]``; it needs the LiteLLM of ``.ci/run``.

Made requests of three types go through the proxy; whoever it chooses does the task or gives it up, by the table, and
leaves a session of Hermes, which the daemon grades. In the middle of the time model-a gets worse at debugging. What is
lost is how much less likely the chosen model does a task than the best one; `any` is what one drawn at random loses.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import Final, NamedTuple

from tests.benchmarks.machine import percentile, print_machine, print_table, work_folder
from tests.benchmarks.process import make_sandbox
from tests.e2e.litellm_proxy import Proxy, names_itself, proxy
from tests.e2e.session_files import turns, write
from tests.scripted_model import scripted
from tests.strategies import json_answer, json_round, json_user

_TASKS: Final = {
    "debugging": "Fix the failing build of module {}",
    "research": "Investigate the history of tea, volume {}",
    "documentation": "Write a README of project {}",
}
_RATES: Final[Mapping[str, Mapping[str, float]]] = {
    "debugging": {"model-a": 0.85, "model-b": 0.60, "model-c": 0.45},
    "research": {"model-a": 0.50, "model-b": 0.80, "model-c": 0.45},
    "documentation": {"model-a": 0.75, "model-b": 0.70, "model-c": 0.40},
}
_FALLEN: Final = 0.45
_MODELS: Final = ("model-a", "model-b", "model-c")
_FAILED: Final = '{"output": "2 failed", "exit_code": 1, "error": null}'
_PARTS: Final = 6


class Asked(NamedTuple):
    """One request: in which part of the time, of which type, who did it, what was lost, how long the answer took."""

    part: int
    task_type: str
    model: str | None
    lost: float
    lost_by_any: float
    seconds: float


def main(arguments: Sequence[str] | None = None) -> int:
    """Print what was lost in each sixth of the time, and what the proxy took."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=60, help="how long (default: %(default)s)")
    parser.add_argument("--rate", type=float, default=1, help="requests a second (default: %(default)s)")
    options = parser.parse_args(arguments)
    print_machine()
    with work_folder(None) as folder, scripted(names_itself) as server:
        file = folder / "route.json"
        settings = {"GRADER_ROUTE_FILE": str(file), "GRADER_ROUTE_EXPLORE": "0.1", "GRADER_JOB_SECONDS": "5"}
        sandbox = make_sandbox(folder, settings=settings)
        with sandbox.daemon(), proxy(server, folder, file, models=_MODELS) as asked:
            before = _resident_mb(asked.pid)
            found = _ask_all(asked, sandbox.root, seconds=60 * options.minutes, rate=options.rate)
            after = _resident_mb(asked.pid)
    _print(found)
    print(f"memory of the proxy: {before:,.0f} MB at its start, {after:,.0f} MB at the end")
    return 0 if all(each.model is not None for each in found) else 1


def _ask_all(asked: Proxy, sessions: Path, *, seconds: float, rate: float) -> list[Asked]:
    chance = random.Random("proxy")
    began, number, found = time.monotonic(), 0, []
    while (gone := time.monotonic() - began) < seconds:
        found.append(_ask(asked, sessions, number, chance, part=int(_PARTS * gone / seconds)))
        number += 1
        time.sleep(max(0.0, began + number / rate - time.monotonic()))
    return found


def _ask(asked: Proxy, sessions: Path, number: int, chance: random.Random, *, part: int) -> Asked:
    task_type = chance.choice(tuple(_TASKS))
    rates = dict(_RATES[task_type])
    if part >= _PARTS / 2 and task_type == "debugging":
        rates["model-a"] = _FALLEN
    best, text, began = max(rates.values()), _TASKS[task_type].format(number), time.perf_counter()
    try:
        model = asked.ask(text)
    except OSError:
        return Asked(part, task_type, None, 0, 0, time.perf_counter() - began)
    took = time.perf_counter() - began
    gave_up = [json_user(text), *json_round(_FAILED), json_answer("I could not do it; the tests still fail.")]
    said = turns(2, task=text) if chance.random() < rates[model] else gave_up
    write(sessions, f"proxy_{number:06d}", said, model=model)
    return Asked(part, task_type, model, best - rates[model], best - fmean(rates.values()), took)


def _print(found: Sequence[Asked]) -> None:
    rows = []
    for part in range(_PARTS):
        here = [each for each in found if each.part == part and each.model is not None]
        shares = Counter(each.model for each in here if each.task_type == "debugging")
        total = max(1, sum(shares.values()))
        rows.append(
            (
                f"{part + 1} of {_PARTS}",
                f"{len(here):,}",
                f"{fmean(each.lost for each in here):.3f}" if here else "-",
                f"{fmean(each.lost_by_any for each in here):.3f}" if here else "-",
                ", ".join(f"{model} {shares[model] / total:.0%}" for model in _MODELS),
            )
        )
    print_table(("time", "answered", "lost a task", "lost by any", "debugging goes to"), rows)
    failed = sum(each.model is None for each in found)
    seconds = [each.seconds for each in found]
    print(
        f"{failed:,} of {len(found):,} requests failed; an answer took {1000 * percentile(seconds, 0.5):,.0f} ms (p50),"
        f" {1000 * percentile(seconds, 0.99):,.0f} ms (p99)"
    )


def _resident_mb(pid: int) -> float:
    [line] = [line for line in Path(f"/proc/{pid}/status").read_text().splitlines() if line.startswith("VmRSS")]
    return int(line.split()[1]) / 1024


if __name__ == "__main__":
    sys.exit(main())
