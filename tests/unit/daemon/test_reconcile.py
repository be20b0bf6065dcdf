from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from grader_daemon.daemon.reconcile import plan
from grader_daemon.domain.unit import Found, Stamp, Unit
from tests.units import unit

NAMES = st.sampled_from("abcd").map(unit)
DISK = st.dictionaries(NAMES, st.sampled_from([b"1", b"2"]))


@given(disk=DISK, ledger=DISK, again=st.sets(NAMES))
def test_missing_is_what_the_ledger_does_not_know_as_it_is_and_what_is_to_be_read_again(
    disk: dict[Unit, Stamp], ledger: dict[Unit, Stamp], again: set[Unit]
) -> None:
    found = [Found(one, stamp, 0) for one, stamp in disk.items()]

    missing = [each.unit for each in plan(found, lambda units: [*map(ledger.get, units)], again)]

    assert missing == [one for one in disk if one in again or disk[one] != ledger.get(one)]


@given(disk=DISK)
def test_after_the_work_is_done_nothing_is_missing(disk: dict[Unit, Stamp]) -> None:
    found = [Found(one, stamp, 0) for one, stamp in disk.items()]

    assert plan(found, lambda units: [*map(disk.get, units)], ()) == []
