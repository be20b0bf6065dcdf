"""Save a grade with what changes with it in one transaction: its rows, sums, labels, and repeats.

One order of steps for every store. All of it happens inside a transaction of the caller.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import timedelta
from typing import Final

from msgspec.structs import replace

from grader_daemon.domain.alert import Alert
from grader_daemon.domain.counting import Changes, is_counted_alike
from grader_daemon.domain.feedback import apply_override, standing_by_session
from grader_daemon.domain.grade import Grade
from grader_daemon.domain.repeats import REACH, Place, Stretch, changed_around, places_of
from grader_daemon.domain.session import SkipReason
from grader_daemon.domain.unit import Unit
from grader_daemon.storage.records import ChangeKind, NewGrade
from grader_daemon.storage.sqlite.store import SqliteStore

_MOST_TOGETHER: Final = 4
"""Most places of one request read for together: what is read for the first mostly serves the others."""


def save_grades(store: SqliteStore, grades: Sequence[NewGrade], *, asked_again_within: timedelta | None = None) -> None:
    """Insert or replace grades with their details and failures, and count them in the roll-ups.

    What people said of these sessions stands above the new grades. `asked_again_within`: so soon must the same be
    asked for again to count; None leaves `asked_again` as it is.
    """
    grades = _under_overrides(store, list({new.grade.session_id: new for new in grades}.values()))
    before = save_copies(store, grades)
    if asked_again_within is not None:
        after = [new.grade for new in grades]
        _settle_repeats(store, [*places_of(after), *places_of(before)], within=asked_again_within)


def save_copies(store: SqliteStore, grades: Sequence[NewGrade]) -> list[Grade]:
    """Insert or replace grades, each once, as they are: nothing stands above them. Returns those that were replaced."""
    replaced = store.grades.stored([new.grade.session_id for new in grades])
    before, after = [old.grade for old in replaced.values()], [new.grade for new in grades]
    _count(store, added=after, removed=before)
    store.grades.put(grades, replacing=replaced)
    store.changes.note(ChangeKind.GRADE, [grade.session_id for grade in after])
    store.issues.save_signs([sign for new in grades for sign in new.signs])
    return before


def remove_copies(store: SqliteStore, session_ids: Sequence[str]) -> None:
    """Remove grades that are gone where they were copied from; those that are not here are passed over."""
    removed = [old.grade for old in store.grades.stored(session_ids).values()]
    _count(store, added=[], removed=removed)
    for grade in removed:
        store.grades.remove(grade.session_id)
    store.changes.note(ChangeKind.RETRACTION, [grade.session_id for grade in removed])


def save_verdicts(store: SqliteStore, changes: Sequence[tuple[Grade, Grade]]) -> None:
    """Rewrite grades to what another policy or a person says (each as it was and as it is), and count them so."""
    counted = Changes()
    for old, new in changes:
        if not is_counted_alike(old, new):
            counted.revise(old, new)
    store.rollups.apply(counted)
    store.grades.put_verdicts([new for _, new in changes])
    store.changes.note(ChangeKind.GRADE, [new.session_id for _, new in changes])
    store.note_rules([(new.unit, new.rules_version) for _, new in changes])


def retract(
    store: SqliteStore, session_id: str, reason: SkipReason, *, asked_again_within: timedelta | None = None
) -> None:
    """Withdraw a grade because another file holds the session; its own file's ledger row says why.

    For `asked_again_within` see `save_grades`.
    """
    removed = [old.grade for old in store.grades.stored([session_id]).values()]
    _count(store, added=[], removed=removed)
    store.grades.remove(session_id)
    if asked_again_within is not None:
        _settle_repeats(store, places_of(removed), within=asked_again_within)
    store.pass_over_session(session_id, reason)
    store.changes.note(ChangeKind.RETRACTION, [session_id])


def save_alert(store: SqliteStore, alert: Alert) -> Alert:
    """Keep a new alert, or what became of one; returns it with its number."""
    if alert.number is None:
        kept = store.alerts.add(alert)
    else:
        kept = alert
        store.alerts.replace(kept)
    store.changes.note(ChangeKind.ALERT, [str(kept.number)])
    return kept


def grades_of_units(store: SqliteStore, units: Sequence[Unit]) -> list[Grade]:
    """Return the grades that were made of those of `units` that the ledger knows."""
    entries = store.ledger_entries(units)
    stored = store.grades.stored([entry.session_id for entry in entries.values() if entry.session_id is not None])
    return [each.grade for each in stored.values() if each.detailed and each.grade.unit in entries]


def _under_overrides(store: SqliteStore, grades: Sequence[NewGrade]) -> Sequence[NewGrade]:
    """Return new grades with what people said of their sessions above them."""
    said = standing_by_session(store.feedback.said([new.grade.session_id for new in grades]))
    if not said:
        return grades
    return [
        replace(new, grade=apply_override(new.grade, said[new.grade.session_id]))
        if new.grade.session_id in said
        else new
        for new in grades
    ]


def _count(store: SqliteStore, *, added: Iterable[Grade], removed: Iterable[Grade]) -> None:
    changes = Changes()
    for grade in removed:
        changes.remove(grade)
    for grade in added:
        changes.add(grade)
    store.rollups.apply(changes)


def _settle_repeats(store: SqliteStore, places: Sequence[Place], *, within: timedelta) -> None:
    """Decide anew which sessions were asked for again around places where sessions came, changed or went."""
    if not places:
        return
    shared = store.repeats.shared(list(dict.fromkeys(places)))
    places_of_request = Counter(place.request for place in shared)
    stretches: dict[int, Stretch] = {}
    changes: dict[str, str | None] = {}
    for place in shared:
        known = stretches.get(place.request)
        around = None if known is None else known.around(place)
        if around is None:
            reach = REACH * min(places_of_request[place.request], _MOST_TOGETHER)
            known = stretches[place.request] = store.repeats.around(place, reach=reach)
            around = known.around(place)
            assert around is not None
        changes |= changed_around(*around, within=within)
    store.repeats.note(list(changes.items()))
    store.changes.note(ChangeKind.GRADE, changes)
