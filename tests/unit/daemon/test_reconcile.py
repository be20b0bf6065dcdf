from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from grader_daemon.daemon.reconcile import plan
from grader_daemon.domain.ledger import FileStamp
from grader_daemon.sources.discovery import FoundFile

STAMPS = st.builds(FileStamp, *[st.integers(0, 1)] * 4)
FILES = st.dictionaries(st.sampled_from("abcd"), STAMPS)


@given(disk=FILES, ledger=FILES, again=st.sets(st.sampled_from("abcd")))
def test_missing_is_what_the_ledger_does_not_know_as_it_is_and_what_is_to_be_read_again(
    disk: dict[str, FileStamp], ledger: dict[str, FileStamp], again: set[str]
) -> None:
    found = [FoundFile(path, stamp) for path, stamp in disk.items()]

    missing = [file.path for file in plan(found, ledger.get, again)]

    assert missing == [path for path in disk if path in again or disk[path] != ledger.get(path)]


@given(disk=FILES)
def test_after_the_work_is_done_nothing_is_missing(disk: dict[str, FileStamp]) -> None:
    found = [FoundFile(path, stamp) for path, stamp in disk.items()]

    assert list(plan(found, disk.get, ())) == []
