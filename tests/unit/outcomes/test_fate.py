"""Reverts of histories that are made by hand: a name is a letter, written forty times."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grader_daemon.outcomes.commits import Commit
from grader_daemon.outcomes.fate import SeenHistory, ancestors, reverts_of
from grader_daemon.outcomes.model import MadeCommit, RevertKind

ENDED = datetime.fromtimestamp(100, UTC)


def name(letter: str) -> str:
    return letter * 40


def history(*rows: str) -> dict[str, Commit]:
    """Make commits of rows "time name parents reverted": "200 c b a" has the parent b and takes a back."""
    commits = {}
    for row in rows:
        time, own, parents, reverts = (*row.split(), "-", "-")[:4]
        commits[name(own)] = Commit(
            name=name(own),
            tree="",
            parents=tuple(name(each) for each in parents.strip("-")),
            authored=int(time),
            committed=int(time),
            reverts=tuple(name(each)[:12] for each in reverts.strip("-")),
        )
    return commits


def reverted(
    commits: dict[str, Commit], *, head: str, made: str = "b", inverses: dict[str, str] | None = None
) -> list[tuple[str, str, RevertKind]]:
    seen = SeenHistory(commits, ancestors(commits, [name(head)]))
    own = [MadeCommit(commit=name(each), at=ENDED, named=True, lines=9) for each in made]
    inverse = {name(by): name(of) for by, of in (inverses or {}).items()}
    found = reverts_of(seen, own, inverse, after=ENDED)
    return [(each.commit[0], each.by[0], each.kind) for each in found]


BASE = ("50 a", "90 b a")


@pytest.mark.parametrize(
    ("rows", "head", "by"),
    [
        pytest.param(("200 c b -",), "c", None, id="none"),
        pytest.param(("200 c b b",), "c", "c", id="by-the-next"),
        pytest.param(("200 c b b", "300 d c c"), "d", None, id="taken-back-itself"),
        pytest.param(("200 c b b", "300 d c c", "400 e d d"), "e", "c", id="and-that-again"),
        pytest.param(("200 c b b", "300 d c c", "400 e d b"), "e", "e", id="reverted-anew"),
        pytest.param(("200 c b b", "200 d c -", "300 e d b"), "e", "c", id="of-two-the-first-is-told"),
        pytest.param(("95 c b b",), "c", None, id="by-the-session-itself"),
        pytest.param(("200 c b b", "210 d b -"), "d", None, id="on-a-branch-that-is-not-checked-out"),
        pytest.param(("200 c b b", "210 d a -"), "d", "c", id="where-neither-is-checked-out"),
        pytest.param(("200 c b b", "300 d c c", "310 e c -"), "e", "c", id="taken-back-on-another-branch"),
        pytest.param(("200 c a -", "210 d cb -", "220 e d d"), "e", "e", id="with-the-merge-that-brought-it"),
        pytest.param(("200 c a -", "210 d bc -", "220 e d d"), "e", None, id="the-merge-brought-the-other-side"),
        pytest.param(("200 c b z",), "c", None, id="of-what-is-not-there"),
    ],
)
def test_a_revert_counts_where_it_stands(rows: tuple[str, ...], head: str, by: str | None) -> None:
    found = reverted(history(*BASE, *rows), head=head)

    assert found == ([] if by is None else [("b", by, RevertKind.MESSAGE)])


def test_a_change_backwards_is_a_revert_without_a_word() -> None:
    commits = history(*BASE, "200 c b -")

    assert reverted(commits, head="c", inverses={"c": "b"}) == [("b", "c", RevertKind.INVERSE)]
    assert reverted(history(*BASE, "200 c b b"), head="c", inverses={"c": "a"}) == [("b", "c", RevertKind.MESSAGE)]


def test_a_name_that_is_cut_so_that_it_means_two_means_none() -> None:
    commits = history(*BASE, "200 c b -")
    twin = "b" * 12 + "0" * 28
    commits[twin] = commits[name("b")]._replace(name=twin)
    commits[name("c")] = commits[name("c")]._replace(reverts=("b" * 12,))

    assert reverted(commits, head="c") == []


def test_ancestors_stop_where_it_is_said() -> None:
    commits = history(*BASE, "200 c b")

    assert ancestors(commits, [name("c"), "unknown"], but=[name("b")]) == {name("c")}


@given(st.lists(st.tuples(st.integers(0, 25), st.integers(0, 25)), max_size=40))
def test_any_history_comes_to_an_end(links: list[tuple[int, int]]) -> None:
    """Names can be cut, so a forger may have reverts go in a circle."""
    rows: dict[str, Commit] = {}
    for number, (parent, target) in enumerate(links):
        own = name(chr(97 + number % 26))
        parents = (name(chr(97 + parent)),) if parent % 3 else ()
        rows[own] = Commit(own, "", parents, 200 + number, 200 + number, (name(chr(97 + target))[:7],))

    for by in (each[1] for each in reverted(rows, head="a", made="abc")):
        assert name(by) in rows
