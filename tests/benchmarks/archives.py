"""What `grade --archive` costs beside `grade` in one process, over the same sessions of real agents.

Run it as ``python -m tests.benchmarks.archives [--sessions N] [--against COMMIT]`` in the repository, with the labelled
sessions beside it; they are repeated under other ids, with calls of their own and weeks apart. Processes grade slices
of 500 in turns, each into a database of its own: one as `grade` does, one each as archives of plain files and of a
.tar.zst, by a cluster of one worker; with ``--against`` also those of another commit. What is compared is the CPU of
all their processes, because the clock says more of who else is at work on the machine; the ratio is the median of those
of the slices. The first slice is there to warm up. The start of a cluster is not in it.

With ``--s3`` the .tar.zst are also read from object storage, which moto plays in a process that is not counted
(``.ci/run`` fetches it).

``--make FOLDER`` only writes an archive of .tar.zst of 64 MB each, when unpacked, for runs by hand. ``--simulate``
prints what a billion sessions take, see `tests/benchmarks/archive_scale.py`.
"""

from __future__ import annotations

import argparse
import io
import os
import random
import statistics
import subprocess
import sys
import tarfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from datetime import datetime, timedelta
from itertools import count, islice
from pathlib import Path
from typing import Any, Final, NamedTuple

import msgspec
import pytest

from grader_daemon.system import zstd
from tests.benchmarks.archive_scale import print_scale
from tests.benchmarks.archive_slices import Spent
from tests.benchmarks.corpora import ARCHIVES, REAL, lines_of
from tests.benchmarks.machine import (
    Figure,
    add_folder_option,
    print_figures,
    print_machine,
    print_table,
    progress,
    progress_done,
    work_folder,
)
from tests.benchmarks.targets import ARCHIVE_OF_ONE_PROCESS
from tests.benchmarks.throughput import ROOT, check_out
from tests.needs import require_moto
from tests.object_storage import object_storage

FORMS: Final = ("plain", "packed")
_STORED: Final = "s3"
_BUCKET: Final = "slices"
_SESSIONS: Final = 7_000
_SLICE_SESSIONS: Final = 500
_TAR_BYTES: Final = 64 * 1024 * 1024
_APART: Final = timedelta(days=7)
_TIMES: Final = ("session_start", "last_updated")
_HEAD: Final = ("backfill of", "\N{MICRO SIGN}s a session: writer", "worker", "both", "by the clock", "of one process")

Json = dict[str, Any]


class Way(NamedTuple):
    """How slices are graded: by the program of a checkout, and as `archive_slices` calls it."""

    name: str
    form: str
    way: str
    checkout: Path = ROOT

    def place(self, folder: Path) -> str:
        """Return where its slices are."""
        return f"s3://{_BUCKET}/packed" if self.form == _STORED else str(folder / self.form)


def copied_sessions() -> Iterator[tuple[str, bytes]]:
    """Yield labelled sessions with their names without end: all of them, then copies that are other sessions."""
    lines = [line for sources in REAL.values() for source in sources for line in lines_of(source)]
    random.Random("archive").shuffle(lines)
    for number in count():
        for line in lines:
            session = msgspec.json.decode(line, type=Json)
            yield f"session_{session['session_id']}-{number}.json", msgspec.json.encode(_copy(session, number))


def _copy(session: Json, number: int) -> Json:
    """Return a session under another id, with calls of its own, some weeks later."""
    for message in session["messages"]:
        for call in message.get("tool_calls") or ():
            call["id"] = f"{call['id']}-{number}"
        if message.get("tool_call_id"):
            message["tool_call_id"] += f"-{number}"
    moved = {name: _later(session[name], number) for name in _TIMES if session.get(name)}
    return {**session, **moved, "session_id": f"{session['session_id']}-{number}"}


def _later(moment: str, number: int) -> str:
    return (datetime.fromisoformat(moment) + number * _APART).isoformat()


def write_slices(folder: Path, wanted: int) -> int:
    """Write sessions twice, as slices of plain files and each of these as one .tar.zst; gives the bytes of all."""
    left, written = islice(copied_sessions(), wanted), 0
    for number in range(wanted // _SLICE_SESSIONS):
        part = list(islice(left, _SLICE_SESSIONS))
        for name, content in part:
            path = folder / "plain" / f"{number:04d}" / "sessions" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            written += path.write_bytes(content)
        packed = folder / "packed" / f"{number:04d}" / "sessions.tar.zst"
        packed.parent.mkdir(parents=True)
        packed.write_bytes(zstd.compress(_tar(iter(part))))
    return written


def write_packed(folder: Path, wanted: int) -> int:
    """Write sessions as .tar.zst of 64 MB each, when unpacked; gives the bytes of these files."""
    folder.mkdir(parents=True, exist_ok=True)
    left = islice(copied_sessions(), wanted)
    for number in count():
        packed = _tar(left)
        if not packed:
            return sum(path.stat().st_size for path in folder.iterdir())
        progress(f"{folder}: {number} files")
        (folder / f"sessions-{number:05d}.tar.zst").write_bytes(zstd.compress(packed))
    return 0


def _tar(left: Iterator[tuple[str, bytes]]) -> bytes:
    """Pack sessions from the front of those that are left; nothing where none is."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as tar:
        for name, content in left:
            member = tarfile.TarInfo(f"sessions/{name}")
            member.size, member.mtime = len(content), 1_761_991_200
            tar.addfile(member, io.BytesIO(content))
            if packed.tell() >= _TAR_BYTES:
                break
    return packed.getvalue() if packed.tell() > tarfile.RECORDSIZE else b""


@contextmanager
def side(way: Way, folder: Path) -> Iterator[Callable[[int], Spent]]:
    """Run a process that grades slices by their numbers."""
    database = folder / f"{way.name}.db"
    command = [
        sys.executable,
        "-P",
        "-m",
        "tests.benchmarks.archive_slices",
        way.way,
        str(folder / way.form),
        str(database),
    ]
    environment = {
        **{name: value for name, value in os.environ.items() if not name.startswith("GRADER_")},
        "HOME": str(folder),
        "PYTHONPATH": os.pathsep.join(map(str, (way.checkout, ROOT))),
    }
    process = subprocess.Popen(
        command, env=environment, cwd=way.checkout, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert process.stdin is not None
    assert process.stdout is not None
    stdin, stdout = process.stdin, process.stdout

    def grade(number: int) -> Spent:
        stdin.write(f"{way.place(folder)}/{number:04d}\n".encode())
        stdin.flush()
        answer = stdout.readline()
        if not answer:
            sys.exit(f"{way.name}: the process that grades has failed, so nothing is measured")
        spent = msgspec.json.decode(answer, type=Spent)
        if spent.sessions != _SLICE_SESSIONS:
            sys.exit(f"{way.name}: graded {spent.sessions} of {_SLICE_SESSIONS} sessions, so nothing is measured")
        return spent

    try:
        yield grade
    finally:
        stdin.close()
        process.wait()
        stdout.close()


@contextmanager
def stored(folder: Path) -> Iterator[None]:
    """Keep the packed slices in object storage, too, which this process and those that it starts find."""
    with object_storage(folder) as variables:
        os.environ.update(variables)
        from s3fs import S3FileSystem  # only who measures it needs it

        storage = S3FileSystem()
        storage.mkdir(_BUCKET)
        storage.put(str(folder / "packed"), f"{_BUCKET}/packed", recursive=True)
        yield


def measure(folder: Path, ways: Sequence[Way], *, slices: int) -> list[list[Spent]]:
    """Grade all slices in turns, in one order and in the other; gives what each took, without the first."""
    spent: list[list[Spent]] = [[] for _ in ways]
    with ExitStack() as stack:
        sides = [stack.enter_context(side(way, folder)) for way in ways]
        for number in range(slices):
            progress(f"slice {number + 1} of {slices}")
            turns = list(zip(sides, spent, strict=True))
            for grade, done in turns if number % 2 else reversed(turns):
                done.append(grade(number))
    progress_done()
    return [done[1:] for done in spent]


def tell(ways: Sequence[Way], spent: Sequence[Sequence[Spent]]) -> list[Figure]:
    """Print what each way took, and return what there is a target for: those of the program as it is here."""
    rows, figures = [], []
    for way, done in zip(ways, spent, strict=True):
        ratio = statistics.median(_cpu(one) / _cpu(each) for one, each in zip(spent[0], done, strict=True))
        parts = ([each.here for each in done], [each.worker for each in done], list(map(_cpu, done)))
        cells = [f"{statistics.median(part) / _SLICE_SESSIONS * 1e6:,.0f}" for part in parts]
        clock = statistics.median(each.seconds for each in done) / _SLICE_SESSIONS * 1e6
        rows.append((way.name, *cells, f"{clock:,.0f}", f"{ratio:.2f}"))
        if way.name in (*FORMS, _STORED):
            target, met = f">= {ARCHIVE_OF_ONE_PROCESS:g}", ratio >= ARCHIVE_OF_ONE_PROCESS
            figures.append(Figure(f"sessions a second of a processor, {way.name}", f"{ratio:.2f}", target, met=met))
    print_table(_HEAD, rows)
    return figures


def _cpu(spent: Spent) -> float:
    return spent.here + spent.worker


def main() -> int:
    """Parse the arguments, measure, print; exit code 1 if a target is missed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sessions", type=int, default=_SESSIONS, help="how many (default: %(default)s)")
    parser.add_argument("--against", metavar="COMMIT", help="run archives by this commit, too")
    parser.add_argument("--s3", action="store_true", help="also from object storage")
    parser.add_argument("--make", type=Path, metavar="FOLDER", help="only write an archive")
    parser.add_argument("--simulate", action="store_true", help="what a billion sessions take, on paper")
    add_folder_option(parser)
    options = parser.parse_args()
    if options.simulate:
        return print_scale()
    if options.s3:
        _require_object_storage()
    if not all(path.is_dir() for path in ARCHIVES):
        sys.exit(f"nothing is measured without {', '.join(map(str, ARCHIVES))}")
    if options.make:
        print(f"{write_packed(options.make, options.sessions):,} bytes")
        return 0
    print_machine()
    ways = [Way("one process", "plain", "plain"), *(Way(form, form, "archive") for form in FORMS)]
    with work_folder(options.folder) as folder, ExitStack() as stack:
        size = write_slices(folder, options.sessions)
        print(f"{options.sessions:,} sessions of {size / options.sessions / 1e3:.1f} KB\n")
        if options.against and (before := check_out(options.against, folder / "before")):
            ways += [Way(f"{form}, {options.against}", form, "archive", before) for form in FORMS]
        if options.s3:
            stack.enter_context(stored(folder))
            ways.append(Way(_STORED, _STORED, "archive"))
        figures = tell(ways, measure(folder, ways, slices=options.sessions // _SLICE_SESSIONS))
    print_figures(figures)
    return int(any(figure.met is False for figure in figures))


def _require_object_storage() -> None:
    try:
        require_moto()
    except pytest.skip.Exception as missing:
        sys.exit(f"--s3: {missing}; .ci/run installs it")


if __name__ == "__main__":
    sys.exit(main())
