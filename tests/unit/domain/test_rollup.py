from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from grader_daemon.domain.rollup import SUM_NAMES, Sums

numbers = st.lists(st.integers(-(2**40), 2**40), min_size=len(SUM_NAMES), max_size=len(SUM_NAMES))
sums = numbers.map(lambda values: Sums(**dict(zip(SUM_NAMES, values, strict=True))))


@given(one=sums, other=sums)
def test_sums_are_added_field_by_field(one: Sums, other: Sums) -> None:
    added = one + other
    assert [getattr(added, name) for name in SUM_NAMES] == [
        getattr(one, name) + getattr(other, name) for name in SUM_NAMES
    ]


@given(one=sums)
def test_nothing_added_changes_nothing(one: Sums) -> None:
    assert one + Sums() == Sums() + one == one


@given(one=sums, other=sums, third=sums)
def test_the_order_of_adding_does_not_matter(one: Sums, other: Sums, third: Sums) -> None:
    assert (one + other) + third == third + (other + one)
