"""What `python -m tests.benchmarks.throughput` says: which commit costs more, and in which stage."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.benchmarks import throughput
from tests.benchmarks.corpora import Corpus, made_corpus
from tests.benchmarks.graded_slices import Graded, Slice
from tests.benchmarks.stages import REST, STAGES, place_of
from tests.benchmarks.throughput import ROOT, Measured, Turn, check_out, main, side

CORPUS = Corpus("made", (), 0, 0)
QUIET = [1.0, 1.01, 0.99, 1.0, 1.0]
BUSY = [1.0, 1.5, 0.7, 1.3, 0.8]


def measured(*, now: float, selves: list[float]) -> Measured:
    """What is measured where the other commit takes these, a second time, and this one `now`."""
    turns = [Turn(*(Graded(seconds, {}, {"graded": 1}) for seconds in (1.0, now, again))) for again in selves]
    return Measured(CORPUS, turns, [])


@pytest.mark.parametrize("label", STAGES)
def test_every_stage_is_called_as_the_table_says(label: str) -> None:
    assert place_of(STAGES[label]) is not None


@pytest.mark.parametrize(
    ("now", "selves", "slower"),
    [
        pytest.param(1.3, QUIET, True, id="a-third-more-on-a-quiet-machine"),
        pytest.param(1.05, QUIET, False, id="a-little-more"),
        pytest.param(1.3, BUSY, False, id="a-third-more-where-the-other-commit-is-as-far-from-itself"),
        pytest.param(2.5, BUSY, True, id="far-more-than-the-noise"),
    ],
)
def test_only_what_is_beyond_the_noise_is_slower(now: float, selves: list[float], slower: bool) -> None:
    assert measured(now=now, selves=selves).is_slower is slower


def test_a_slice_is_graded_by_a_process_of_its_own(tmp_path: Path) -> None:
    root = tmp_path / "sessions"
    corpus = made_corpus(root, "4 KB", slices=1)

    with side(ROOT, root) as grading:
        graded = grading.grade(Slice(corpus.slices[0], clocked=True))

    assert graded.outcomes == {"graded": corpus.sessions}
    assert graded.stages.keys() == {*STAGES, REST}
    assert 0 < graded.stages["  walk"] < graded.stages["analyze"] < graded.cpu_seconds


def test_without_the_other_commit_nothing_is_compared(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["throughput", "--short", "--against", "no-such-commit"])

    assert main() == 0
    assert "commit no-such-comm is not in this checkout" in capsys.readouterr().out


def test_a_folder_without_history_has_no_commit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(throughput, "ROOT", tmp_path)

    assert check_out("HEAD", tmp_path / "before") is None
