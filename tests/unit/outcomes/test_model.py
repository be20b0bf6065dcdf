from __future__ import annotations

from datetime import timedelta

import pytest
from msgspec.structs import replace

from grader_daemon.domain.work_fate import WorkFate
from grader_daemon.outcomes.model import (
    MadeCommit,
    Reverted,
    RevertKind,
    SeenFate,
    Survival,
    Work,
    became,
    due_ages,
    line_digests,
    next_look,
)
from tests.strategies import NOW

DAY = timedelta(days=1)


def fate(lines: dict[str, int], *, reverted: str = "", dropped: str = "", replaced: str = "") -> SeenFate:
    commits = tuple(MadeCommit(commit=name, at=NOW, named=True, lines=count) for name, count in lines.items())
    back = tuple(Reverted(commit=name, by="x", at=NOW, kind=RevertKind.MESSAGE) for name in reverted)
    return SeenFate(looked_at=NOW, commits=commits, reverted=back, dropped=tuple(dropped), replaced=tuple(replaced))


@pytest.mark.parametrize(
    ("what", "is_reverted"),
    [
        pytest.param(fate({"a": 5}), False, id="nothing-taken-back"),
        pytest.param(fate({"a": 5}, reverted="a"), True, id="all"),
        pytest.param(fate({"a": 6, "b": 5}, reverted="a"), True, id="most-lines"),
        pytest.param(fate({"a": 5, "b": 5}, reverted="a"), False, id="half-or-done-again"),
        pytest.param(fate({"a": 0, "b": 0}, reverted="a"), False, id="one-of-two-without-lines"),
        pytest.param(fate({"a": 0, "b": 0}, reverted="ab"), True, id="both-without-lines"),
        pytest.param(fate({"a": 5, "b": 5}, reverted="b", replaced="a"), True, id="what-replaced-it"),
        pytest.param(fate({"a": 5}, reverted="a", dropped="a"), False, id="of-what-stands-nowhere"),
    ],
)
def test_work_is_reverted_when_most_of_it_is(what: SeenFate, is_reverted: bool) -> None:
    assert what.is_reverted is is_reverted


@pytest.mark.parametrize(
    ("days", "taken", "due"),
    [
        pytest.param(0.9, (), None, id="too-early"),
        pytest.param(1, (), 1, id="a-day"),
        pytest.param(6, (1,), None, id="done"),
        pytest.param(7, (1,), 7, id="a-week"),
        pytest.param(12, (), 7, id="the-daemon-was-down"),
        pytest.param(40, (7,), 30, id="a-month"),
        pytest.param(40, (30,), None, id="all-done"),
    ],
)
def test_lines_are_counted_once_for_each_age(days: float, taken: tuple[int, ...], due: int | None) -> None:
    counted = tuple(Survival(days=each, age_days=each, kept=1, lines=1) for each in taken)

    assert due_ages(NOW, NOW + days * DAY, counted) == due


@pytest.mark.parametrize(
    ("passed", "due"),
    [
        pytest.param(timedelta(0), timedelta(hours=1), id="an-hour"),
        pytest.param(timedelta(hours=1), timedelta(hours=6), id="six-hours"),
        pytest.param(timedelta(hours=9), DAY, id="a-day"),
        pytest.param(5.5 * DAY, 6 * DAY, id="each-day"),
        pytest.param(30 * DAY, None, id="over"),
    ],
)
def test_looks_become_rarer_and_end(passed: timedelta, due: timedelta | None) -> None:
    assert next_look(NOW, NOW + passed, last_days=30) == (None if due is None else NOW + due)


def test_a_session_without_files_and_commits_left_nothing() -> None:
    assert Work(began=NOW, ended=NOW).is_nothing
    assert not Work(began=NOW, ended=NOW, commits=("1a2b3c4",)).is_nothing


@pytest.mark.parametrize(
    ("seen", "kept", "what"),
    [
        pytest.param(fate({"a": 5}), None, None, id="not-counted-yet"),
        pytest.param(fate({"a": 5}), (0, 0), None, id="no-lines-to-count"),
        pytest.param(fate({"a": 5}), (5, 10), WorkFate.KEPT, id="half-of-the-lines"),
        pytest.param(fate({"a": 5}), (4, 10), WorkFate.REWRITTEN, id="fewer"),
        pytest.param(fate({"a": 5}), (0, 10), WorkFate.GONE, id="none-left"),
        pytest.param(fate({"a": 5}, dropped="a"), (5, 10), WorkFate.GONE, id="on-no-branch"),
        pytest.param(fate({"a": 5, "b": 5}, dropped="a"), (5, 10), WorkFate.KEPT, id="one-of-two-on-no-branch"),
        pytest.param(fate({"a": 5, "b": 5}, dropped="a", replaced="b"), (9, 10), WorkFate.KEPT, id="squashed"),
        pytest.param(fate({"a": 5}, reverted="a"), (9, 10), WorkFate.REVERTED, id="reverted"),
    ],
)
def test_what_became_of_work_is_one_word(seen: SeenFate, kept: tuple[int, int] | None, what: WorkFate | None) -> None:
    if kept is not None:
        counted = (
            Survival(days=1, age_days=1, kept=10, lines=10),
            Survival(days=7, age_days=8, kept=kept[0], lines=kept[1]),
        )
        seen = replace(seen, survival=counted)
    assert became(seen) is what


def test_blanks_around_and_between_words_do_not_matter() -> None:
    assert line_digests(b"def  f(a):\r\n\treturn a") == line_digests(b"    def f(a):\n  return a\n")


def test_lines_that_stand_in_any_file_say_nothing() -> None:
    assert line_digests(b"{\n}\n\n----------\nelse:\n") == frozenset()


def test_words_of_any_language_say_something() -> None:
    assert len(line_digests("имя файла\n".encode())) == 1
    assert len(line_digests(b"\xff\xfe name of it\n")) == 1


def test_a_digest_fits_into_a_column() -> None:
    assert all(0 <= each < 2**63 for each in line_digests(b"some words\nsome other words\n"))


def test_a_text_without_end_is_read_so_far() -> None:
    assert len(line_digests(b"".join(b"line number %d\n" % number for number in range(30_000)))) == 20_000
