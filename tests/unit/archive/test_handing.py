from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from grader_daemon.archive.handing import Handing
from grader_daemon.archive.objects import SHARD_BYTES, StoredObject
from grader_daemon.archive.slices import Slice
from grader_daemon.archive.store import ArchiveProgress
from grader_daemon.storage.sqlite.database import IN_MEMORY
from grader_daemon.storage.sqlite.store import SqliteStore


def nothing_done() -> ArchiveProgress:
    """What a new store keeps of archives."""
    return ArchiveProgress(SqliteStore(IN_MEMORY))


def stored(name: str, size: int = 10) -> StoredObject:
    return StoredObject(name=name, bytes=size, written_ns=0, version="1")


LARGE = stored("large.tar", 3 * SHARD_BYTES)
SMALL = [stored("a.tar"), stored("b.json")]


def test_objects_are_handed_out_together_and_a_large_one_in_slices() -> None:
    handing = Handing([SMALL, [LARGE]], nothing_done())

    assert [handing.next() for _ in range(5)] == [
        [Slice(SMALL[0]), Slice(SMALL[1])],
        [Slice(LARGE, 0)],
        [Slice(LARGE, 1)],
        [Slice(LARGE, 2)],
        None,
    ]


def test_an_object_with_more_than_expected_goes_on_before_all_else() -> None:
    handing = Handing([SMALL, [LARGE]], nothing_done())
    task = handing.next()
    assert task is not None

    size = handing.finish(task, goes_on=[task[0]], left=[], failed=set())

    assert size == 20
    assert [handing.next() for _ in range(3)] == [[Slice(SMALL[0], number)] for number in (1, 2, 3)]
    assert handing.next() == [Slice(LARGE)]


def test_of_an_object_that_has_ended_no_more_is_handed_out() -> None:
    handing = Handing([SMALL], nothing_done())
    handing.next()
    handing.finish([Slice(SMALL[0])], goes_on=[Slice(SMALL[0])], left=[], failed=set())
    assert handing.next() == [Slice(SMALL[0], 1)]

    handing.finish([Slice(SMALL[0], 1)], goes_on=[], left=[], failed=set())

    assert handing.next() is None


def test_an_object_is_done_when_all_of_its_slices_are() -> None:
    done = nothing_done()
    handing = Handing([[LARGE]], done)
    first, second, third = [Slice(LARGE, number) for number in range(3)]
    assert [handing.next() for _ in range(3)] == [[first], [second], [third]]

    sizes = [
        handing.finish([third], goes_on=[], left=[], failed=set()),
        handing.finish([first], goes_on=[first], left=[], failed=set()),
    ]
    assert not done.those_done([LARGE.digest])
    sizes.append(handing.finish([second], goes_on=[second], left=[], failed=set()))

    assert sum(sizes) == LARGE.bytes
    assert done.those_done([LARGE.digest])
    assert Handing([[LARGE]], done).next() is None


def test_the_next_run_goes_on_behind_what_is_done() -> None:
    done = nothing_done()
    handing = Handing([[*SMALL, LARGE]], done)
    task = handing.next()
    assert task is not None
    handing.finish(task, goes_on=[task[0]], left=[], failed=set())
    assert [handing.next() for _ in range(4)][3] == [Slice(LARGE)]
    handing.finish([Slice(LARGE)], goes_on=[Slice(LARGE)], left=[], failed=set())

    again = Handing([[*SMALL, LARGE]], done)

    assert [again.next() for _ in range(4)] == [[Slice(SMALL[0], 1)], [Slice(LARGE, 1)], [Slice(LARGE, 2)], None]


def test_what_could_not_be_read_is_not_done_and_no_more_of_it_is_handed_out() -> None:
    done = nothing_done()
    handing = Handing([[LARGE], SMALL], done)
    assert handing.next() == [Slice(LARGE)]

    assert handing.finish([Slice(LARGE)], goes_on=[], left=[], failed={"large.tar"}) == LARGE.bytes

    assert handing.next() == [Slice(each) for each in SMALL]
    assert not done.those_done([LARGE.digest])


def test_what_nobody_came_to_is_handed_out_again() -> None:
    done = nothing_done()
    handing = Handing([SMALL], done)
    task = handing.next()
    assert task is not None

    handing.finish(task, goes_on=[], left=task[1:], failed=set())

    assert handing.next() == task[1:]
    assert done.those_done([each.digest for each in SMALL]) == {SMALL[0].digest}


def test_behind_a_slice_that_ended_its_reader_the_next_is_tried_but_no_third() -> None:
    handing = Handing([SMALL], nothing_done())
    handing.next()

    assert handing.skip(Slice(SMALL[1])) == 10
    assert handing.next() is None
    assert handing.skip(Slice(SMALL[0])) == 10
    assert handing.next() == [Slice(SMALL[0], 1)]
    assert handing.skip(Slice(SMALL[0], 1)) == 0
    assert handing.next() is None


@given(slices=st.lists(st.integers(1, 6), max_size=6), data=st.data())
def test_every_slice_is_handed_out_once_in_whatever_order_they_end(slices: list[int], data: st.DataObject) -> None:
    objects = [
        stored(f"{number}.tar", data.draw(st.sampled_from([10, 4 * SHARD_BYTES]))) for number in range(len(slices))
    ]
    ends = dict(zip(objects, slices, strict=True))
    done = nothing_done()
    handing = Handing([[each] for each in objects], done)
    hands: list[list[Slice]] = []
    finished: list[Slice] = []
    while True:
        while len(hands) < 3 and (task := handing.next()) is not None:
            hands.append(task)
        if not hands:
            break
        task = hands.pop(data.draw(st.integers(0, len(hands) - 1)))
        goes_on = [each for each in task if each.number < ends[each.stored] - 1]
        handing.finish(task, goes_on=goes_on, left=[], failed=set())
        finished += [each for each in task if each.number < ends[each.stored]]

    assert sorted(finished, key=str) == sorted((Slice(each, n) for each in objects for n in range(ends[each])), key=str)
    digests = [each.digest for each in objects]
    assert done.those_done(digests) == set(digests)
