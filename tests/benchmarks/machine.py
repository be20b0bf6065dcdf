"""What all benchmarks share: the machine in a few words, aligned tables, a folder that is cleaned up, page cache.

Figures from a noisy machine are worth little on their own, so whatever can be is printed as a ratio to something
measured in the same run.
"""

from __future__ import annotations

import argparse
import os
import platform
import shutil
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import apsw

_NUMERIC_START = set("0123456789.-+<>~")


@dataclass(frozen=True, slots=True)
class Figure:
    """One line of a result: what was measured, what came out and what it should be; `met` is None without a target."""

    name: str
    value: str
    target: str = ""
    met: bool | None = None


def at_most(name: str, value: float, *, target: float | None, unit: str, digits: int = 1) -> Figure:
    """A figure that should not exceed `target`."""
    if target is None:
        return Figure(name, f"{value:,.{digits}f} {unit}")
    return Figure(name, f"{value:,.{digits}f} {unit}", f"<= {target:,g} {unit}", met=value <= target)


def print_figures(figures: Sequence[Figure]) -> None:
    """Print figures with their targets; the last column says whether they are met."""
    print_table(
        ("figure", "measured", "target", ""),
        [(figure.name, figure.value, figure.target, verdict(figure.met)) for figure in figures],
    )


def verdict(met: bool | None) -> str:
    """What a table says of a figure; nothing without a target."""
    return {True: "met", False: "MISSED", None: ""}[met]


def print_table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print rows in aligned columns; what begins like a number stands to the right."""
    widths = [max(len(row[column]) for row in (head, *rows)) for column in range(len(head))]
    print("  ".join(text.ljust(width) for text, width in zip(head, widths, strict=True)).rstrip())
    print("  ".join("-" * width for width in widths))
    for row in rows:
        print("  ".join(_aligned(text, width) for text, width in zip(row, widths, strict=True)).rstrip())
    print()


def _aligned(text: str, width: int) -> str:
    return text.rjust(width) if text[:1] in _NUMERIC_START else text.ljust(width)


def print_machine() -> None:
    """Print processor, cores and versions: a figure means nothing without them."""
    load = ", ".join(f"{share:.1f}" for share in os.getloadavg())
    print(f"{_processor()}, {os.cpu_count()} cores, load {load}")
    print(f"Python {platform.python_version()}, SQLite {apsw.sqlite_lib_version()}, Linux {platform.release()}\n")


def _processor() -> str:
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def add_folder_option(parser: argparse.ArgumentParser) -> None:
    """Let the user choose the file system to measure on."""
    parser.add_argument("--folder", type=Path, help="where to put the files (default: a new folder in the temp folder)")


@contextmanager
def work_folder(parent: Path | None) -> Iterator[Path]:
    """A new folder of our own below `parent`, removed at the end whatever happens."""
    if parent is not None:
        parent.mkdir(parents=True, exist_ok=True)
    folder = Path(tempfile.mkdtemp(prefix="grader-bench-", dir=parent))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def forget_settings(home: Path) -> None:
    """Let nothing that a user has set change what is measured in this process."""
    for name in [name for name in os.environ if name.startswith("GRADER_")]:
        del os.environ[name]
    os.environ["HOME"] = str(home)


def progress(text: str) -> None:
    """Say on a terminal what takes so long."""
    if sys.stderr.isatty():
        print(f"\r\x1b[K{text}", end="", file=sys.stderr, flush=True)


def progress_done() -> None:
    """Take the last progress line away."""
    progress("")


def percentile(values: Sequence[float], share: float) -> float:
    """The smallest value that `share` (0 to 1) of `values` do not exceed."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, max(0, round(share * len(ordered) + 0.5) - 1))]
