"""What a megabyte of each agent's sessions costs, against one of Claude Code's: to read, and to grade.

Run it as ``python -m tests.benchmarks.formats`` in the repository, with the sample sessions beside it. A session here
is one sample over and over, each time with ids of its own and as the continuation of the time before, so that all
agents write about the same. Once with the results of tools as they are in the samples, which say a line or two, and
once each with 1,500 characters more, as they are at work. Agents take turns; the ratio is the median of those of the
turns.
"""

from __future__ import annotations

import argparse
import json
import re
import statistics
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from functools import partial
from pathlib import Path
from time import thread_time
from typing import Any, NamedTuple

from grader_daemon import bootstrap
from grader_daemon.domain.session import Session
from grader_daemon.domain.unit import Unit
from grader_daemon.pipeline.examine import Examiner
from grader_daemon.settings import load_settings
from tests.benchmarks.machine import add_folder_option, print_machine, print_table, verdict, work_folder
from tests.benchmarks.targets import OF_CLAUDE_CODE

SAMPLES = Path(__file__).parents[3] / "shared" / "data" / "sources"
CLAUDE_CODE = "claude-code"
AGENTS: Mapping[str, tuple[str, str]] = {
    CLAUDE_CODE: ("claude_code/cc2050/recover", "projects/*/*-*-*-*-*.jsonl"),
    "codex": ("codex/cx169/recover", "sessions/*/*/*/*.jsonl"),
    "gemini-cli": ("gemini_cli/gm61/recover", "tmp/*/chats/*.jsonl"),
    "copilot": ("copilot/cp1102/recover", ".copilot/session-state/*/events.jsonl"),
    "qwen-code": ("qwen_code/qw0244/errors", ".qwen/projects/*/chats/*.jsonl"),
    "cline": ("cline/cl3065/recover", ".cline/data/sessions/*/*.messages.json"),
    "pi": ("pi/pi073/success", ".pi/agent/sessions/*/*.jsonl"),
}
"""The sample of each agent, and what its session is called below that."""

_ID = re.compile(r'"(?:\w*[iI]d|uuid|parentUuid|tool_use_id)": ?"([^"\n]+)"')
_IDS_OF_SESSIONS = re.compile(r'"(?:sessionId|session_id)": ?"([^"\n]+)"')
_HEADS = frozenset({"session", "session.start", "session_meta", None})
"""Kinds of lines that a session has once, at its beginning."""
_RESULTS = frozenset({"tool_result", "tool.execution_complete", "toolResult", "function_call_output"})
_OUTPUTS = frozenset({"content", "detailedContent", "output", "result", "resultDisplay", "stdout", "text"})
_COMPACT = (",", ":")
_MORE = "".join(f'src/parser.py:{number}: in "parse", 3 of 4 lines are read\n' for number in range(40))[:1_500]

Json = Any
"""What a line holds."""


class Case(NamedTuple):
    """A session of one agent: where it lies, its bytes and its messages."""

    unit: Unit
    size: int
    messages: int


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kilobytes", type=int, default=300, help="of each session (default: 300)")
    parser.add_argument("--turns", type=int, default=15, help="how often each is read and graded (default: 15)")
    add_folder_option(parser)
    options = parser.parse_args()
    print_machine()
    with work_folder(options.folder) as folder:
        settings = load_settings(db_path=folder / "grades.db")
        with closing(bootstrap.open_store(settings)) as store:
            examiner = bootstrap.make_examiner(settings, bootstrap.make_policy(settings, store))
        for name, more in (("results as in the samples", ""), ("results longer by 1,500 characters", _MORE)):
            cases = {
                agent: _case(examiner, agent, folder / name / agent, options.kilobytes * 1_000, more)
                for agent in AGENTS
            }
            print(f"{name}\n")
            measure(examiner, cases, turns=options.turns)


def measure(examiner: Examiner, cases: Mapping[str, Case], *, turns: int) -> None:
    """Print what each agent's session costs."""
    read = _in_turns({agent: _reader(examiner, case) for agent, case in cases.items()}, cases, turns)
    now = bootstrap.utc_now()
    graders = {agent: partial(examiner.examine, case.unit, now=now) for agent, case in cases.items()}
    graded = _in_turns(graders, cases, turns)
    rows = [
        [
            agent,
            f"{case.size / case.messages:,.0f}",
            f"{statistics.median(read[agent]):.1f}",
            *_of_claude_code(read, agent),
            f"{statistics.median(graded[agent]):.1f}",
            *_of_claude_code(graded, agent),
        ]
        for agent, case in cases.items()
    ]
    target = f"<= {OF_CLAUDE_CODE:g}"
    print_table(
        ("agent", "bytes a message", "read: ms per MB", target, "", "read and graded: ms per MB", target, ""), rows
    )


def _in_turns(
    tasks: Mapping[str, Callable[[], object]], cases: Mapping[str, Case], turns: int
) -> dict[str, list[float]]:
    """Return the milliseconds of CPU per megabyte of each turn of each task."""
    spent: dict[str, list[float]] = {agent: [] for agent in tasks}
    for turn in range(turns + 1):
        for agent, task in tasks.items():
            began = thread_time()
            task()
            if turn:
                spent[agent].append((thread_time() - began) / cases[agent].size * 1e9)
    return spent


def _of_claude_code(spent: Mapping[str, Sequence[float]], agent: str) -> tuple[str, str]:
    ratio = statistics.median(each / of for each, of in zip(spent[agent], spent[CLAUDE_CODE], strict=True))
    return f"{ratio:.2f}", "" if agent == CLAUDE_CODE else verdict(ratio <= OF_CLAUDE_CODE)


def _reader(examiner: Examiner, case: Case) -> Callable[[], Session]:
    source = examiner.sources.of(case.unit)

    def read() -> Session:
        session = source.read(source.look(case.unit)).session
        assert isinstance(session, Session)
        return session

    return read


def _case(examiner: Examiner, agent: str, folder: Path, size: int, more: str) -> Case:
    """Write a session of an agent of about `size` bytes, where each result is longer by `more`."""
    sample, pattern = AGENTS[agent]
    (path,) = (SAMPLES / sample).glob(pattern)
    there = folder / path.relative_to(SAMPLES / sample)
    there.parent.mkdir(parents=True)
    text = path.read_text()
    if path.suffix == ".jsonl":
        there.write_text("".join(_repeated([json.loads(line) for line in text.splitlines()], size, more)))
    else:
        for beside in path.parent.iterdir():
            (there.parent / beside.name).write_bytes(beside.read_bytes())
        whole = json.loads(text)
        whole["messages"] = [json.loads(line) for line in _repeated(whole["messages"], size, more, indent=2)]
        there.write_text(json.dumps(whole, indent=2, ensure_ascii=False))
    case = Case(Unit(agent, str(there)), there.stat().st_size, 1)
    return case._replace(messages=len(_reader(examiner, case)().messages))


def _repeated(lines: Sequence[Json], size: int, more: str, *, indent: int | None = None) -> Iterator[str]:
    """Yield lines over and over, each time with ids of its own and behind the last one of the time before."""
    written = number = 0
    last: str | None = None
    while written < size:
        text = json.dumps(lines)
        for name in sorted({*_ID.findall(text)} - {*_IDS_OF_SESSIONS.findall(text)}):
            text = text.replace(f'"{name}"', f'"{number:x}.{name}"')
        for line in json.loads(text):
            if number and line.get("type", line.get("role")) in _HEADS:
                continue
            for name, parent in (("uuid", "parentUuid"), ("id", "parentId")):
                if parent in line:
                    line[parent] = line[parent] or last
                    last = line[name]
            longer = json.dumps(_lengthened(line, more), indent=indent, separators=_COMPACT, ensure_ascii=False) + "\n"
            written += len(longer.encode())
            yield longer
        number += 1


def _lengthened(value: Json, more: str, *, inside: bool = False) -> Json:
    """Return what a line holds with `more` behind each text that is the result of a tool."""
    if isinstance(value, list):
        return [_lengthened(each, more, inside=inside) for each in value]
    if not isinstance(value, dict):
        return value
    inside = inside or not _RESULTS.isdisjoint((value.get("type"), value.get("role")))
    return {
        name: each + more
        if inside and name in _OUTPUTS and isinstance(each, str)
        else _lengthened(each, more, inside=inside or name in ("toolUseResult", "functionResponse", "toolCallResult"))
        for name, each in value.items()
    }


if __name__ == "__main__":
    main()
