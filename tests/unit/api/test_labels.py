"""What people say of grades, on a store and a clock of the test."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from grader_daemon.api.context import GraderContext
from grader_daemon.api.grades import Grades
from grader_daemon.api.labels import LabelledFile, Labels
from grader_daemon.domain.verdict import VerdictBy
from grader_daemon.errors import InputError
from tests.conftest import Clock
from tests.strategies import NOW
from tests.unit.api.conftest import Save


@pytest.fixture
def labels(context: GraderContext, save: Save) -> Labels:
    """Of two sessions, both completed."""
    save("first")
    save("second")
    return Labels(context)


def test_a_label_is_given_when_the_clock_says(labels: Labels, clock: Clock) -> None:
    clock.now = NOW + timedelta(hours=3)

    given = labels.add("fir", completed=False)

    assert (given.session_id, given.given_at, given.completed_before) == ("first", clock.now, True)
    assert [each.session_id for each in labels.standing()] == ["first"]


def test_a_label_stands_above_the_automatic_verdict_until_it_is_taken_back(
    labels: Labels, context: GraderContext
) -> None:
    labels.add("first", completed=False)
    said = Grades(context).find("first").grade
    taken_back = labels.undo("first")
    after = Grades(context).find("first").grade

    assert (said.completed, said.verdict_by) == (False, VerdictBy.PERSON)
    assert taken_back.completed is False
    assert (after.completed, after.verdict_by) == (True, VerdictBy.RULES)
    assert labels.standing() == []


def test_nothing_can_be_taken_back_of_what_was_not_said(labels: Labels) -> None:
    with pytest.raises(InputError, match="session 'first' has no label to undo"):
        labels.undo("first")


@pytest.mark.parametrize("said", [{}, {"note": "hm"}, {"quality": 6}, {"quality": 0}], ids=str)
def test_a_label_says_something_within_bounds(labels: Labels, said: dict[str, Any]) -> None:
    with pytest.raises(InputError):
        labels.add("first", **said)
    assert labels.standing() == []


def test_a_note_is_kept_as_one_line_without_secrets(labels: Labels) -> None:
    given = labels.add("first", completed=True, note="wrong\nfile, password=hunter2hunter2")

    assert given.note is not None
    assert "\n" not in given.note
    assert "hunter2" not in given.note


def test_a_file_adds_what_is_new_and_names_what_is_unknown(labels: Labels, tmp_path: Path) -> None:
    file = tmp_path / "labels.csv"
    file.write_text("session_id,completed\nfirst,no\nsecond,yes\nnobody,yes\n")

    assert labels.add_file(file) == LabelledFile(added=2, same=0, unknown=("nobody",), wrong=())
    assert labels.add_file(file) == LabelledFile(added=0, same=2, unknown=("nobody",), wrong=())
    assert len(labels.standing()) == 2


def test_of_a_file_with_a_wrong_line_nothing_is_added(labels: Labels, tmp_path: Path) -> None:
    file = tmp_path / "labels.csv"
    file.write_text("session_id,completed\nfirst,no\nsecond,perhaps\n")

    taken = labels.add_file(file)

    assert (taken.added, len(taken.wrong)) == (0, 1)
    assert labels.standing() == []
