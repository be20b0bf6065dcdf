"""Trials: begun, drawn before sessions, and ended."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from itertools import count
from pathlib import Path

import pytest
from msgspec.structs import replace

from grader_daemon.errors import InputError, NotFoundError, OutputError
from grader_daemon.skills.switched_file import HELD, Position, position_of, take_away
from grader_daemon.skills.trial_file import Draw, Trial, TrialEnd, TrialFile, paths_of
from grader_daemon.skills.trial_names import Subject
from grader_daemon.skills.trials import Trials, fair_coin
from tests.strategies import NOW


class Home:
    """A home with a prompt file, and its trials; `next_on` is what the coin shows."""

    def __init__(self, folder: Path) -> None:
        self.prompt = folder / "CLAUDE.md"
        self.prompt.write_text("Be brief.")
        self.subject = Subject("CLAUDE.md", "claude-code", str(self.prompt))
        self.file = TrialFile(folder / "trials")
        self.next_on = False
        self._minutes = count()
        self.trials = Trials(self.file, clock=self._now, coin=lambda: self.next_on)

    def _now(self) -> datetime:
        return NOW + timedelta(minutes=next(self._minutes))

    @contextmanager
    def session(self) -> Iterator[Trial]:
        with self.trials.session("CLAUDE.md") as trial:
            assert trial is not None
            yield trial

    def draw(self, *, on: bool) -> Trial:
        self.next_on = on
        with self.session() as trial:
            return trial

    @property
    def kept(self) -> Trial:
        return self.file.trials()[-1]


@pytest.fixture
def home(tmp_path: Path) -> Home:
    home = Home(tmp_path)
    home.trials.start(home.subject)
    return home


def test_each_session_is_drawn_and_written_down(home: Home) -> None:
    for on in (True, False, False, True):
        home.draw(on=on)
        assert home.prompt.exists() is on
    assert [draw.on for draw in home.kept.draws] == [True, False, False, True]
    assert all(draw.is_done for draw in home.kept.draws)
    assert [draw.at for draw in home.kept.draws] == sorted(draw.at for draw in home.kept.draws)


def test_nothing_is_switched_below_a_session(home: Home) -> None:
    home.next_on = False
    with home.session():
        home.next_on = True
        with home.session() as second:
            assert len(second.draws) == 1
        assert not home.prompt.exists()
        assert len(home.draw(on=True).draws) == 1
    assert len(home.draw(on=True).draws) == 2
    assert home.prompt.exists()


def test_a_trial_that_is_stopped_leaves_all_as_it_was(home: Home) -> None:
    home.draw(on=False)
    [(trial, is_back)] = home.trials.stop("CLAUDE.md")
    assert (trial.end, is_back, home.prompt.read_text()) == (TrialEnd.STOPPED, True, "Be brief.")
    with home.trials.session("CLAUDE.md") as none:
        assert none is None
    with pytest.raises(NotFoundError, match=r"no trial of CLAUDE\.md runs"):
        home.trials.stop("CLAUDE.md")


def test_all_trials_are_stopped_at_once(home: Home, tmp_path: Path) -> None:
    (tmp_path / "AGENTS.md").write_text("x")
    home.trials.start(Subject("AGENTS.md", "codex", str(tmp_path / "AGENTS.md")))
    assert [trial.number for trial, _ in home.trials.stop(None)] == [1, 2]
    with pytest.raises(NotFoundError, match="no trial runs"):
        home.trials.stop(None)


def test_a_file_that_cannot_be_put_back_keeps_no_other_trial_from_its_end(
    home: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "AGENTS.md").write_text("x")
    home.trials.start(Subject("AGENTS.md", "codex", str(tmp_path / "AGENTS.md")))
    home.draw(on=False)

    def refused(held: str, *_: object, **__: object) -> None:
        raise PermissionError(errno.EACCES, "Permission denied", held)

    with monkeypatch.context() as patched:
        patched.setattr(os, "link", refused)
        with pytest.raises(OutputError, match=r"CLAUDE\.md: cannot be put back: Permission denied"):
            home.trials.stop(None)
    assert [trial.name for trial in home.file.running()] == ["CLAUDE.md"]


def test_a_second_trial_of_a_file_or_a_name_is_refused(home: Home) -> None:
    for subject in (home.subject._replace(name="other"), home.subject._replace(path="/elsewhere/CLAUDE.md")):
        with pytest.raises(InputError, match=r"a trial of CLAUDE.md runs"):
            home.trials.start(subject)
    home.trials.stop(None)
    assert home.trials.start(home.subject).number == 2


@pytest.mark.parametrize("is_away", [False, True])
def test_a_file_that_is_edited_ends_the_trial_and_is_kept(home: Home, is_away: bool) -> None:
    home.draw(on=not is_away)
    Path(f"{home.prompt}{HELD if is_away else ''}").write_text("Be long.")
    assert home.draw(on=False).end is TrialEnd.EDITED
    assert home.prompt.read_text() == "Be long."
    with home.trials.session("CLAUDE.md") as trial:
        assert trial is None


def test_a_file_that_is_replaced_ends_the_trial_and_both_are_kept(home: Home) -> None:
    home.draw(on=False)
    home.prompt.write_text("new")
    assert home.draw(on=False).end is TrialEnd.REPLACED
    assert (home.prompt.read_text(), Path(f"{home.prompt}{HELD}").read_text()) == ("new", "Be brief.")


def test_a_file_that_is_gone_ends_the_trial(home: Home) -> None:
    home.prompt.unlink()
    assert home.draw(on=False).end is TrialEnd.GONE


def test_a_file_that_is_moved_by_hand_ends_the_trial(home: Home) -> None:
    home.draw(on=False)
    Path(f"{home.prompt}{HELD}").rename(home.prompt)
    assert home.draw(on=False).end is TrialEnd.MOVED
    assert home.prompt.exists()


def test_a_file_moved_before_the_first_draw_is_moved_too(home: Home) -> None:
    take_away(home.kept.file)
    assert home.draw(on=True).end is TrialEnd.MOVED
    assert home.prompt.exists()


@pytest.mark.parametrize("is_switched", [False, True])
def test_a_draw_that_was_cut_off_is_followed_by_another(home: Home, is_switched: bool) -> None:
    trial = home.draw(on=True)
    with home.file.changing():
        home.file.save(replace(trial, draws=(*trial.draws, Draw(at=NOW + timedelta(hours=1), on=False))))
    if is_switched:
        take_away(trial.file)
    after = home.draw(on=is_switched)
    assert [draw.is_done for draw in after.draws] == [True, False, True]
    assert position_of(after.file) is (Position.ON if is_switched else Position.OFF)


class Killed(BaseException):
    """The process ends here, as by kill -9."""


def test_a_draw_is_written_down_before_the_file_is_switched(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    def kill(_: object) -> None:
        raise Killed

    monkeypatch.setattr("grader_daemon.skills.trials.take_away", kill)
    with pytest.raises(Killed):
        home.draw(on=False)
    assert [(draw.on, draw.is_done) for draw in home.kept.draws] == [(False, False)]


def test_a_trial_is_over_only_when_its_file_is_back(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    def kill(_: object) -> None:
        raise Killed

    home.draw(on=False)
    with monkeypatch.context() as patch:
        patch.setattr("grader_daemon.skills.trials.put_back", kill)
        with pytest.raises(Killed):
            home.trials.stop(None)
    assert home.kept.runs
    home.trials.stop(None)
    assert home.prompt.exists()


def test_a_trial_ends_when_no_more_draws_can_be_kept(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("grader_daemon.skills.trials._MOST_DRAWS", 1)
    home.draw(on=False)
    assert home.draw(on=False).end is TrialEnd.FULL
    assert home.prompt.exists()


def test_a_file_of_trials_that_is_none_is_named(home: Home, tmp_path: Path) -> None:
    (tmp_path / "trials" / "trials.json").write_text("{")
    with pytest.raises(InputError, match=r"trials\.json: not a file of trials"):
        home.trials.stop(None)


def test_the_coin_is_fair() -> None:
    assert 400 < sum(fair_coin() for _ in range(1000)) < 600


def test_the_places_of_trials_are_their_files_and_folders(home: Home) -> None:
    assert paths_of(home.file.running()) == {str(home.prompt), str(home.prompt.parent)}
    home.trials.stop(None)
    assert paths_of(home.file.running()) == frozenset()
