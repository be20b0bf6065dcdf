from __future__ import annotations

from datetime import timedelta

import pytest
from msgspec.structs import replace

from grader_daemon.outcomes.model import (
    HIDDEN,
    MadeCommit,
    OutsideFile,
    OutsideState,
    Reverted,
    RevertKind,
    Rewritten,
    SeenFate,
    Survival,
    Work,
)
from grader_daemon.outcomes.store import Followed
from grader_daemon.outcomes.words import told_words
from tests.strategies import NOW

NOTHING = SeenFate(looked_at=NOW)
COMMITS = tuple(MadeCommit(commit=each * 40, at=NOW, named=True, lines=9) for each in "abcde")


def told(fate: SeenFate) -> list[tuple[str, str]]:
    return told_words(Followed("s", None, "/src", Work(began=NOW, ended=NOW), fate))


def back(later: timedelta) -> SeenFate:
    reverted = Reverted(commit="a" * 40, by="f" * 40, at=NOW + later, kind=RevertKind.MESSAGE)
    return replace(NOTHING, reverted=(reverted, replace(reverted, commit="b" * 40)))


@pytest.mark.parametrize(
    ("fate", "words"),
    [
        pytest.param(replace(NOTHING, commits=COMMITS[:1]), "committed as aaaaaaa", id="a-commit"),
        pytest.param(
            replace(NOTHING, commits=COMMITS), "committed as aaaaaaa, bbbbbbb, ccccccc and 2 more", id="many-commits"
        ),
        pytest.param(back(timedelta(minutes=-5)), "reverted 0 min later (fffffff)", id="clocks-differ"),
        pytest.param(back(timedelta(minutes=89)), "reverted 89 min later (fffffff)", id="minutes"),
        pytest.param(back(timedelta(hours=3.4)), "reverted 3 h later (fffffff)", id="hours"),
        pytest.param(back(timedelta(days=6.9)), "reverted 6 days later (fffffff)", id="days"),
        pytest.param(
            replace(NOTHING, dropped=("a" * 40,)), "1 commit no longer on any branch (aaaaaaa)", id="on-no-branch"
        ),
        pytest.param(
            replace(NOTHING, replaced=("a" * 40, "b" * 40)),
            "2 commits rewritten, with the lines still there",
            id="rewritten",
        ),
        pytest.param(
            replace(NOTHING, rewritten=Rewritten(commit="e" * 40, at=NOW + timedelta(minutes=7), lines=2)),
            "2 lines changed 7 min later (eeeeeee)",
            id="changed",
        ),
        pytest.param(
            replace(back(timedelta(minutes=7)), rewritten=Rewritten(commit="f" * 40, at=NOW, lines=2)),
            "reverted 7 min later (fffffff)",
            id="a-revert-is-no-other-change",
        ),
        pytest.param(
            replace(NOTHING, survival=(Survival(days=7, age_days=9, kept=41, lines=44),)),
            "41 of 44 lines still there after 9 days",
            id="a-look-that-came-late",
        ),
    ],
)
def test_the_fate_in_git_is_told_with_what_says_so(fate: SeenFate, words: str) -> None:
    assert told(fate) == [("in git", words)]


def test_other_files_and_trouble_have_lines_of_their_own() -> None:
    files = tuple(
        OutsideFile(path=f"/{number}", digest="", folder=0, state=state)
        for number, state in enumerate((OutsideState.GONE, OutsideState.THERE, OutsideState.THERE))
    )

    assert told(replace(NOTHING, outside=files, trouble="it is too large")) == [
        ("other files", "2 still there, 1 gone"),
        ("not all work checked", "it is too large"),
    ]
    assert told(replace(NOTHING, trouble=f"/src{HIDDEN}")) == [
        ("not all work checked", "no folder /src, or it is hidden from the service"),
    ]
    assert told(NOTHING) == []
