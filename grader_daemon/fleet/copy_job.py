"""A copy of a fleet's grades in a database of its own, which then answers all that a machine's own does.

What PostgreSQL has of each host behind the place up to which its rows are here is read and saved, batch by batch, each
in one transaction with the new place. So it may end at any moment, be deleted and made anew, and be behind; it is never
wrong about more than the time.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from datetime import datetime, timedelta
from typing import Final

from msgspec.structs import replace

from grader_daemon._version import __version__
from grader_daemon.domain.analysis import ErrorSign
from grader_daemon.domain.feedback import Feedback, FleetLabel, Said, add_override, standing
from grader_daemon.domain.fleet_hosts import FleetHostState, copied_id
from grader_daemon.domain.grade import Grade
from grader_daemon.errors import InputError, StoreError, UnstorableError
from grader_daemon.fleet.server_reads import Decisions, FleetRows, SentGrade
from grader_daemon.fleet.server_rows import identity_of
from grader_daemon.fleet.store import CopyTables
from grader_daemon.pipeline.save_labels import note_labels, take_labels
from grader_daemon.pipeline.saving import remove_copies, save_copies
from grader_daemon.storage.records import FleetCopyState, NewGrade
from grader_daemon.storage.sqlite.store import SqliteStore

_AT_ONCE: Final = 500
_FIRST: Final = 20
"""So many sessions of each host are read before anything is told of it: those of fifty hosts in a second."""
_COMING_IN: Final = timedelta(hours=1)
"""A label comes in when its transaction begins, and is seen when that ends."""
_CANNOT_BE_KEPT: Final = (UnstorableError, OverflowError, TypeError, ValueError)
"""Errors for what another machine's JSON holds and cannot be kept; the server does not look into it."""
_NOTHING_OF_IT: Final = -1
"""The epoch of a host of whose earlier one something is still here."""


class FleetCopy:
    """A store that follows the rows of a fleet."""

    def __init__(
        self,
        store: SqliteStore,
        rows: FleetRows,
        *,
        lock: Callable[[], AbstractContextManager[None]],
        days: int | None = None,
    ) -> None:
        """`store` is empty, or a copy of this fleet; it has the sessions of the last `days`, by default all.

        `lock` lets one program at a time read into it, where one might remove what another has just read.
        """
        self.store = store
        self.rows = rows
        self._tables = CopyTables(store)
        self._lock = lock
        self.told: str | None = None
        """Decisions that could not be read, in words, if there are any."""
        self._kept = None if days is None else timedelta(days=days)

    @property
    def unread_labels(self) -> int:
        """The number of labels that this version cannot read."""
        return self.rows.unread_labels

    def close(self) -> None:
        """Close the connection to the fleet's database; safe to call twice."""
        self.rows.close()

    def behind(self) -> int:
        """Return how many numbers of the feeds of all hosts are not read yet; several may be of one session.

        Raises:
            DeliveryError, CallError, StoreError: see `catch_up`.
        """
        here = {host.host: host.seq for host in self._tables.hosts()}
        return self.older() + sum(max(0, host.seq - here.get(host.host, 0)) for host in self.rows.hosts())

    def older(self) -> int:
        """Return how much of `behind` is left of what hosts had when their first rows were read."""
        return sum(host.older for host in self._tables.hosts())

    def catch_up(self, clock: Callable[[], datetime]) -> Generator[int]:
        """Read what is new, then what is `older`, and between its parts what came in; yields the size of each batch.

        Raises:
            StoreBusyError: another program reads into this copy, and goes on to.
            DeliveryError: the fleet's database is away.
            CallError: the login is no person's.
            StoreError: one of the databases cannot be used, or this one is of something else.
        """
        with self._lock():
            yield from self._read_newer(clock())
            while self.older():
                yield from self._read_older()
                yield from self._read_newer(clock())

    def _read_newer(self, now: datetime) -> Iterator[int]:
        known = self._begin()
        is_updated, known = known.version != __version__, replace(known, version=__version__)
        there = {host.host: host for host in self.rows.hosts()}
        here = {host.host: host for host in self._tables.hosts()}
        waiting = _by_session(self.rows.waiting_labels())
        for gone in here.keys() - there.keys():
            yield from self._forget(gone)
        since = self._since()
        for name, host in there.items():
            own = here.get(name)
            if own is not None and (own.epoch != host.epoch or (is_updated and own.unread)):
                yield from self._forget(name)
                own = None
            yield from self._follow(host, own or self._begin_host(host), waiting, since=since)
        if since is not None:
            self._forget_older(since)
        first = self._read_first(waiting, since)
        self._finish(known, waiting, now, since=since)
        if first:
            yield first

    def _since(self) -> datetime | None:
        """Return since when sessions that ended are here, by the clock of the server; None: all are.

        By a clock here that was ahead for a while, what is kept would go, and not come back.
        """
        return None if self._kept is None else self.rows.now() - self._kept

    def _finish(
        self, known: FleetCopyState, waiting: dict[str, list[FleetLabel]], now: datetime, *, since: datetime | None
    ) -> None:
        """Read what people said and decided, behind the grades that it is of."""
        labels_at = self._take(waiting, known)
        decided = self.rows.decisions(but=known.decisions)
        lacks = self.older() > 0  # then labels of what comes are read again, and the machines' own sums answer
        day = None if since is None else since.date()
        with self.rows.sums(since=day) if lacks else nullcontext(()) as sums, self.store.transaction():
            adopted = self._adopted(known, decided)
            self._tables.mark_errors()
            self._tables.save_sums(sums)
            self._tables.save_state(replace(adopted, read_at=now, labels_at=None if lacks else labels_at))

    @contextmanager
    def deciding(self) -> Iterator[None]:
        """Change alerts, silences and marks of errors in this block, in a transaction here; all copies then have it.

        Raises:
            DeliveryError: it was not sent; what is here of it is undone the next time.
        """
        with self.rows.deciding() as decided:
            known = replace(self._begin(), decisions=decided.version)
            with self.store.transaction():
                # Also of the version here: the last time may not have been kept.
                is_adopted = self._adopt(decided)
                self._tables.save_state(known)
            before = self._tables.decisions() if is_adopted else None
            yield
            after = self._tables.decisions()
            if after != before:
                version = self.rows.decide(after)
                with self.store.transaction():
                    self._tables.save_state(replace(known, decisions=version))

    def _adopted(self, known: FleetCopyState, decided: Decisions | None) -> FleetCopyState:
        """Adopt what was decided elsewhere; call it inside a transaction."""
        if decided is None or decided.version == known.decisions:
            return known
        self._adopt(decided)
        return replace(known, decisions=decided.version)

    def _adopt(self, decided: Decisions) -> bool:
        """Adopt decisions; what cannot be read counts as nothing. Return whether there was anything."""
        if decided.content is None:
            return False
        try:
            self._tables.replace_decisions(decided.content)
        except InputError as error:
            self.told = f"{error}; the local copy of them stays in use"
            return False
        return True

    def say(self, said: Sequence[Said]) -> list[Feedback]:
        """Send what a person says of sessions to the fleet's database, and keep it here; call it inside a transaction.

        It stands on the machine of a session when that has taken it. What it takes back is of `last_said`.

        Raises:
            DeliveryError, CallError: it was not sent.
        """
        known = {each.id: each for each in self.store.feedback.said([each.session_id for each in said])}
        moments = [None if each.withdraws is None else known[each.withdraws].given_at for each in said]
        labels = [_as_here(label) for label in self.rows.say(said, withdraws=moments)]
        take_labels(self.store, labels)
        given = {(each.session_id, each.given_at): each for each in self.store.feedback.said(_ids(labels))}
        return [given[label.session_id, label.given_at] for label in labels]

    def last_said(self, session_id: str) -> Feedback | None:
        """Return what this person said last of a session, and did not take back; None where that is nothing."""
        person = self.rows.person()
        return standing(each for each in self.store.feedback.said([session_id]) if each.given_by == person).last

    def _begin(self) -> FleetCopyState:
        """Return of which fleet this is a copy, from now on at the latest.

        Raises:
            StoreError: it is of another one, or holds something else.
        """
        fleet, known = self.rows.name(), self._tables.state()
        if known is None and (self.store.file_counts() or self.store.changes.newest()):
            raise StoreError(
                "the file in fleet_copy_file has other grades: choose another file for the copy of the fleet"
            )
        if known is not None and known.fleet != fleet:
            raise StoreError(
                "the file in fleet_copy_file is a copy of another fleet: delete it, or choose another file"
            )
        if known is None:
            known = FleetCopyState(fleet=fleet, version=__version__)
            with self.store.transaction():
                self._tables.save_state(known)
        return known

    def _follow(
        self,
        there: FleetHostState,
        here: FleetHostState,
        waiting: dict[str, list[FleetLabel]],
        *,
        since: datetime | None,
    ) -> Iterator[int]:
        """Read what is new of a host."""
        there = replace(there, older=here.older)
        seq, unread = here.seq, here.unread
        if here == replace(there, unread=unread):
            return
        more = seq < there.seq
        while more:
            found, more = self.rows.grades(there.host, after=seq, limit=_AT_ONCE, since=since)
            removed = self.rows.removed(there.host, after=seq, up_to=found[-1].seq if more else None)
            gone = [copied_id(there.host, session_id) for session_id in removed]
            seq = found[-1].seq if more else there.seq
            unread = self._save(replace(there, seq=seq, unread=unread), found, gone, waiting).unread
            yield len(found) + len(gone)
        with self.store.transaction():
            self._tables.save_host(replace(there, unread=unread))

    def _begin_host(self, there: FleetHostState) -> FleetHostState:
        """Begin with a host of which nothing is here: what it has now is read behind all that is new, newest first."""
        host = replace(there, older=there.seq, unread=0)
        with self.store.transaction():
            self._tables.save_host(host)
        return host

    def _read_older(self) -> Iterator[int]:
        """Read a batch of each host of what it had when its first rows were read, the newest of that."""
        waiting, since = _by_session(self.rows.waiting_labels()), self._since()
        for host in self._tables.hosts():
            if host.older:
                read, found = self._read_back(host, since, limit=_AT_ONCE)
                self._save(read, found, (), waiting)
                yield len(found)

    def _read_first(self, waiting: dict[str, list[FleetLabel]], since: datetime | None) -> int:
        """Read the newest sessions of all hosts of which nothing is here, and save them at once; returns how many."""
        begun = [host for host in self._tables.hosts() if 0 < host.older == host.seq]
        read = [self._read_back(host, since, limit=_FIRST) for host in begun]
        known = [_known(host, found) for host, found in read]
        try:
            kept = [new for host, grades in known for new in self._to_keep_all(host, grades, waiting)]
            self._save_all([host for host, _ in known], kept, ())
        except _CANNOT_BE_KEPT:  # by one of them
            for host, found in read:
                self._save(host, found, (), waiting)
        return sum(len(found) for _, found in read)

    def _read_back(
        self, host: FleetHostState, since: datetime | None, *, limit: int
    ) -> tuple[FleetHostState, list[SentGrade]]:
        """Return a host as it is after some of its older rows, and those."""
        found, more = self.rows.older_grades(host.host, up_to=host.older, limit=limit, since=since)
        return replace(host, older=found[-1].seq - 1 if more else 0), found

    def _save(
        self,
        host: FleetHostState,
        found: Sequence[SentGrade],
        gone: Sequence[str],
        waiting: dict[str, list[FleetLabel]],
    ) -> FleetHostState:
        """Save rows, with the place of their host; returns it with how many of them cannot be had here."""
        host, grades = _known(host, found)
        try:
            self._save_all([host], self._to_keep_all(host, grades, waiting), gone)
        except _CANNOT_BE_KEPT:  # by one of them
            host = self._save_each(host, grades, waiting)
            self._save_all([host], [], gone)
        return host

    def _save_all(self, hosts: Sequence[FleetHostState], grades: Sequence[NewGrade], gone: Sequence[str]) -> None:
        with self.store.transaction():
            save_copies(self.store, grades)
            remove_copies(self.store, gone)
            for host in hosts:
                self._tables.save_host(host)

    def _save_each(
        self, host: FleetHostState, grades: Sequence[Grade], waiting: dict[str, list[FleetLabel]]
    ) -> FleetHostState:
        signs = self._signs(host.host, grades)
        for grade in grades:
            try:
                with self.store.transaction():
                    save_copies(self.store, [self._to_keep(grade, signs, waiting)])
            except _CANNOT_BE_KEPT:
                host = replace(host, unread=host.unread + 1)
        return host

    def _signs(self, host: str, grades: Sequence[Grade]) -> dict[str, ErrorSign]:
        """Return what errors in grades look like that nobody here has seen, or that told nothing of it."""
        seen = {failure.fingerprint for grade in grades for failure in grade.errors if failure.fingerprint is not None}
        known = {sign.fingerprint for sign in self.store.issues.signs(seen) if sign.signal}
        return {sign.fingerprint: sign for sign in self.rows.signs(host, seen - known)} if seen - known else {}

    def _to_keep_all(
        self, host: FleetHostState, grades: Sequence[Grade], waiting: dict[str, list[FleetLabel]]
    ) -> list[NewGrade]:
        signs = self._signs(host.host, grades)
        return [self._to_keep(grade, signs, waiting) for grade in grades]

    def _to_keep(self, grade: Grade, signs: dict[str, ErrorSign], waiting: dict[str, list[FleetLabel]]) -> NewGrade:
        """Return a grade as it is kept: under what people said that its host did not take yet."""
        labels = waiting.get(grade.session_id)
        if labels:
            said = {(label.given_by, label.given_at) for label in labels}
            kept = self.store.feedback.said([grade.session_id])
            grade = add_override(grade, standing(each for each in kept if (each.given_by, each.given_at) in said))
        new = [signs[failure.fingerprint] for failure in grade.errors if failure.fingerprint in signs]
        return NewGrade(grade=grade, identity=identity_of(grade), digest="", signs=tuple(new))

    def _take(self, waiting: dict[str, list[FleetLabel]], known: FleetCopyState) -> datetime | None:
        """Keep what people said; returns when the last of it came in."""
        since = None if known.labels_at is None else known.labels_at - _COMING_IN
        labels, newest = self.rows.labels(since=since)
        if labels:
            with self.store.transaction():
                for label in map(_as_here, labels):
                    keep = take_labels if label in waiting.get(label.session_id, ()) else note_labels
                    keep(self.store, [label])
        return newest

    def _forget_older(self, since: datetime) -> None:
        while gone := self._tables.ended_before(since, _AT_ONCE):
            with self.store.transaction():
                remove_copies(self.store, gone)

    def _forget(self, host: str) -> Iterator[int]:
        """Remove the sessions of a host; what is left of it when this is interrupted is removed the next time."""
        with self.store.transaction():
            known = next((each for each in self._tables.hosts() if each.host == host), None)
            if known is not None:
                self._tables.save_host(replace(known, epoch=_NOTHING_OF_IT))
        while gone := self._tables.sessions_of(host, _AT_ONCE):
            with self.store.transaction():
                remove_copies(self.store, gone)
            yield len(gone)
        with self.store.transaction():
            self._tables.forget_host(host)


def _known(host: FleetHostState, found: Sequence[SentGrade]) -> tuple[FleetHostState, list[Grade]]:
    """Return the grades that this version can read, and their host with how many it cannot."""
    grades = [each.grade for each in found if each.grade is not None]
    return replace(host, unread=host.unread + len(found) - len(grades)), grades


def _by_session(labels: Sequence[FleetLabel]) -> dict[str, list[FleetLabel]]:
    """Return labels under the ids that sessions have here."""
    found: dict[str, list[FleetLabel]] = defaultdict(list)
    for label in map(_as_here, labels):
        found[label.session_id].append(label)
    return found


def _as_here(label: FleetLabel) -> FleetLabel:
    return replace(label, session_id=copied_id(label.host, label.session_id))


def _ids(labels: Sequence[FleetLabel]) -> list[str]:
    return list({label.session_id for label in labels})
