"""Whatever happens to session files, and in whatever order it is noticed, the same sessions are graded in the end.

Files are noticed one by one or by scans. A deleted file counts as it last was, until another file of its session is
read: grades outlive their files. ``/new`` copies the newest link of a chain, which does not go on then; that is how
Hermes leaves it.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random
from typing import Any

import msgspec
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from grader_daemon.daemon.backlog import Backlog
from grader_daemon.domain.limits import Limits
from grader_daemon.domain.verdict import CompletionPolicy
from grader_daemon.pipeline.commit import Commit
from grader_daemon.pipeline.examine import Examiner
from grader_daemon.pipeline.ingest import Ingest
from grader_daemon.rules import load_rules
from grader_daemon.storage.records import GradeFilter
from grader_daemon.storage.sqlite.store import SqliteStore
from tests.examples import about, steps
from tests.strategies import NOW, document, json_answer, json_round, json_user
from tests.units import hermes, units

SUMMARY = json_user("[CONTEXT COMPACTION — REFERENCE ONLY] Earlier turns were compacted")
LONG_AGO = timedelta(days=2)
LONGEST_PAUSE = timedelta(days=9)
MANY = 10_000
_EXAMINER = Examiner(load_rules(), CompletionPolicy(), hermes(), zone=UTC, idle=timedelta(minutes=30), limits=Limits())


class Saga(msgspec.Struct):
    """A session as an agent has it in mind."""

    session_id: str
    start: datetime
    opening: str
    summed_up: bool
    calls: list[str]
    answered: bool
    updated: datetime

    def content(self) -> bytes:
        turns: list[dict[str, Any]] = [json_user(self.opening), *([SUMMARY] if self.summed_up else [])]
        for call in self.calls:
            turns += json_round(call_id=call)
        turns += [json_answer()] if self.answered else []
        return document(
            turns,
            session_id=self.session_id,
            session_start=self.start.isoformat(),
            last_updated=self.updated.isoformat(),
        )


class Graded(msgspec.Struct, frozen=True):
    """What is compared: all of a grade but when it was made, and its file without the folder of the test."""

    file: str
    grade: str


class Grading:
    """A folder with session files, and a database of them."""

    def __init__(self, root: Path) -> None:
        self.root = root / "files"
        self.root.mkdir(parents=True)
        self.store = SqliteStore(root / "database" / "grades.db")
        self.store.connection.execute("PRAGMA synchronous = OFF")
        self._ingest = Ingest(
            examiner=_EXAMINER,
            recorder=Commit(self.store, retry_pauses=(), asked_again_within=timedelta(0)),
            store=self.store,
            clock=lambda: NOW,
        )

    def read(self, paths: list[Path]) -> None:
        self._ingest.ingest(units(paths), within_seconds=60)

    def settle(self, chance: Random) -> None:
        """Read every file in a random order, in batches, and then what is due, as the daemon does."""
        paths = self.files()
        chance.shuffle(paths)
        while paths:
            size = chance.randint(1, len(paths))
            self.read(paths[:size])
            paths = paths[size:]
        self._read_due()

    def _read_due(self) -> None:
        for _ in range(5):
            due = self.store.due_units(NOW, longest_pause=LONGEST_PAUSE, limit=MANY)
            if not due:
                return
            self.read([Path(one.locator) for one in due])
        raise AssertionError("files are looked at again and again")

    def scan(self) -> None:
        """Read what the daemon finds by itself."""
        backlog = Backlog(
            store=self.store,
            sources=hermes([self.root]),
            rules_version=_EXAMINER.rules_version,
            quiet_seconds=1,
            longest_pause=LONGEST_PAUSE,
            clock=lambda: NOW,
            on_young=lambda one: self.read([Path(one.locator)]),
            on_scanned=lambda _: None,
        )
        backlog.request_scan()
        while backlog.busy:
            outdated = backlog.outdated(MANY)
            backlog.pass_outdated(outdated)
            self.read([Path(one.locator) for one in (*backlog.take(MANY), *(each.unit for each in outdated))])
        self._read_due()

    def files(self) -> list[Path]:
        return sorted(path for path in self.root.rglob("*.json"))

    def graded(self) -> dict[str, Graded]:
        found = {}
        for stored in self.store.grades.page(GradeFilter()).grades:
            grade = msgspec.structs.replace(stored.grade, session_file="", graded_at=NOW)
            file = str(Path(stored.grade.session_file).relative_to(self.root))
            found[grade.session_id] = Graded(file, msgspec.json.encode(grade).decode())
        return found


class Histories(RuleBasedStateMachine):
    """Sessions begin, go on, are compressed, copied, moved and deleted; files are read at any time."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp(prefix="grader-daemon-histories"))
        self.grading = Grading(self.folder)
        self.now = NOW - LONG_AGO
        self.sagas: dict[Path, Saga] = {}
        self.over: set[datetime] = set()
        self.ghosts: dict[str, tuple[str, bytes, int]] = {}
        self.read: dict[Path, tuple[bytes, int]] = {}

    def teardown(self) -> None:
        self.grading.store.close()
        shutil.rmtree(self.folder)

    # -- what agents do ------------------------------------------------------------------------------------------------

    @rule()
    def begin(self) -> None:
        number, start = len(self.sagas), self._tick()
        self._write(Saga(f"s{start:%H%M%S}", start, f"Task {number}", False, [self._call()], False, start))

    @rule(which=st.randoms(use_true_random=False), answered=st.booleans())
    @precondition(lambda self: self._going_on())
    def go_on(self, which: Random, answered: bool) -> None:
        path, saga = which.choice(self._going_on())
        on = msgspec.structs.replace(saga, calls=[*saga.calls, self._call()], answered=answered, updated=self._tick())
        self._write(on, path)

    @rule(which=st.randoms(use_true_random=False), summed_up=st.booleans(), answered=st.booleans())
    @precondition(lambda self: self._going_on())
    def compress(self, which: Random, summed_up: bool, answered: bool) -> None:
        _, saga = which.choice(self._going_on())
        now = self._tick()
        self._write(
            Saga(f"c{now:%H%M%S}", saga.start, saga.opening, saga.summed_up or summed_up, [self._call()], answered, now)
        )

    @rule(which=st.randoms(use_true_random=False))
    @precondition(lambda self: self._going_on())
    def begin_anew(self, which: Random) -> None:
        _, older = which.choice(self._going_on())
        saga = max((saga for saga in self.sagas.values() if saga.start == older.start), key=lambda saga: saga.updated)
        self.over.add(saga.start)
        now = self._tick()
        self._write(msgspec.structs.replace(saga, session_id=f"n{now:%H%M%S}", start=now, updated=self._tick()))

    # -- what people do with files -------------------------------------------------------------------------------------

    @rule(which=st.randoms(use_true_random=False), folder=st.sampled_from("abz"), keep=st.booleans())
    @precondition(lambda self: self.sagas)
    def copy(self, which: Random, folder: str, keep: bool) -> None:
        path = self._any(which)
        target = self.grading.root / folder / path.name
        if target not in self.sagas:
            target.parent.mkdir(exist_ok=True)
            (shutil.copy2 if keep else shutil.copy)(path, target)
            if not keep:
                self._stamp(target)
            self.sagas[target] = self.sagas[path]

    @rule(which=st.randoms(use_true_random=False), folder=st.sampled_from("abz"))
    @precondition(lambda self: self.sagas)
    def move(self, which: Random, folder: str) -> None:
        path = self._any(which)
        target = self.grading.root / folder / path.name
        if target not in self.sagas:
            target.parent.mkdir(exist_ok=True)
            self._bury(path)
            path.rename(target)
            self.sagas[target] = self.sagas.pop(path)

    @rule(which=st.randoms(use_true_random=False), name=st.sampled_from(["a", "own", "z"]))
    @precondition(lambda self: self.sagas)
    def rename_folder(self, which: Random, name: str) -> None:
        self._rename(self._any(which).parent, self.grading.root / name)

    @rule(which=st.randoms(use_true_random=False), name=st.sampled_from(["0", "zz"]), rest=st.booleans())
    @precondition(lambda self: self.sagas)
    def rename_folder_and_back(self, which: Random, name: str, rest: bool) -> None:
        folder, meanwhile = self._any(which).parent, self.grading.root / name
        self._rename(folder, meanwhile)
        self._scan()
        self._rename(meanwhile, folder)
        if rest:
            self._scan()

    @rule(which=st.randoms(use_true_random=False))
    @precondition(lambda self: len(self.sagas) > 1)
    def delete(self, which: Random) -> None:
        path = self._any(which)
        self._bury(path)
        path.unlink()
        del self.sagas[path]

    # -- what the daemon does ------------------------------------------------------------------------------------------

    @rule(which=st.randoms(use_true_random=False))
    @precondition(lambda self: self.sagas)
    def read_some(self, which: Random) -> None:
        self._read(which.sample(self.grading.files(), which.randint(1, len(self.sagas))))

    @rule()
    def scan(self) -> None:
        self._scan()

    @invariant()
    def ledger_and_grades_agree(self) -> None:
        store = self.grading.store
        graded = dict(store.rows("SELECT path, session_id FROM session_files WHERE state = 'graded'"))
        files = {
            stored.grade.session_file: stored.grade.session_id for stored in store.grades.page(GradeFilter()).grades
        }
        assert graded == files

    @rule(chance=st.randoms(use_true_random=False), scanned=st.booleans())
    def all_is_graded_as_by_a_fresh_run(self, chance: Random, scanned: bool) -> None:
        self._scan() if scanned else self._read(self.grading.files(), chance)
        fresh = Grading(Path(tempfile.mkdtemp(dir=self.folder)))
        for path in self.grading.files():
            target = fresh.root / path.relative_to(self.grading.root)
            target.parent.mkdir(exist_ok=True)
            shutil.copy2(path, target)
        ours = self.grading.graded()
        for session_id, (file, content, written) in self.ghosts.items():
            if session_id in ours and ours[session_id].file == file and not (fresh.root / file).exists():
                (fresh.root / file).parent.mkdir(exist_ok=True)
                (fresh.root / file).write_bytes(content)
                os.utime(fresh.root / file, ns=(written, written))
        fresh.settle(chance)
        theirs = fresh.graded()
        fresh.store.close()
        assert ours == theirs

    # -- helpers -------------------------------------------------------------------------------------------------------

    def _tick(self) -> datetime:
        self.now += timedelta(seconds=1, microseconds=7)
        return self.now

    def _call(self) -> str:
        return f"call_4c637ca0{self._tick():%H%M%S}"

    def _any(self, which: Random) -> Path:
        return which.choice(sorted(self.sagas))

    def _going_on(self) -> list[tuple[Path, Saga]]:
        return [(path, saga) for path, saga in sorted(self.sagas.items()) if saga.start not in self.over]

    def _write(self, saga: Saga, path: Path | None = None) -> None:
        path = path or self.grading.root / "own" / f"session_{saga.session_id}.json"
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(saga.content())
        self._stamp(path)
        self.sagas[path] = saga

    def _stamp(self, path: Path) -> None:
        now = self._tick().timestamp()
        os.utime(path, (now, now))

    def _read(self, paths: list[Path], chance: Random | None = None) -> None:
        self.grading.settle(chance) if chance is not None else self.grading.read(paths)
        for path in paths:
            self.read[path] = (path.read_bytes(), path.stat().st_mtime_ns)

    def _scan(self) -> None:
        self.grading.scan()
        for path in self.grading.files():
            self.read[path] = (path.read_bytes(), path.stat().st_mtime_ns)

    def _rename(self, folder: Path, target: Path) -> None:
        if target.exists():
            return
        moved = [path for path in self.sagas if path.parent == folder]
        for path in moved:
            self._bury(path)
        folder.rename(target)
        self.sagas |= {target / path.name: self.sagas.pop(path) for path in moved}

    def _bury(self, path: Path) -> None:
        """Remember a file that goes as it was when it was read last, if its session is graded from it."""
        file = str(path.relative_to(self.grading.root))
        for session_id, graded in self.grading.graded().items():
            if graded.file == file:
                self.ghosts[session_id] = (file, *self.read[path])


TestHistories = Histories.TestCase
TestHistories.settings = settings(TestHistories.settings, max_examples=about(12), stateful_step_count=steps(20))
