"""What `python -m tests.benchmarks.validity` says of a few sessions is a table of what stands in their labels."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.benchmarks import validity
from tests.benchmarks.truth.cases import read_cases
from tests.benchmarks.truth.homes import Taught, learn, look, new_home, split
from tests.benchmarks.truth.order import share_of_lowest
from tests.benchmarks.truth.trials import LabelKey, Truth, World, places_of, trial_keys, with_labels, without_family
from tests.benchmarks.truth.worth import Judged, over_places, worth
from tests.benchmarks.validity import main
from tests.examples import repeats

_SESSIONS = 108


def write_places(folder: Path, families: Sequence[str]) -> Path:
    """Sessions of one place for each family: half of them end in a result that failed, and most of these failed."""
    chance = random.Random(1)
    rows = ["session_id,source,family,task_id,success"]
    (folder / "sessions").mkdir(parents=True)
    for family in families:
        for number in range(_SESSIONS):
            name = f"{family}-{number}"
            failing = chance.random() < 0.5
            completed = chance.random() < (0.2 if failing else 0.8)
            rows.append(f"{name},place_{family},{family},{family}{number // 2},{int(completed)}")
            text = json.dumps(_session(name, number, failing=failing))
            (folder / "sessions" / f"session_{name}.json").write_text(text)
    (folder / "labels.csv").write_text("\n".join(rows) + "\n")
    return folder


def _session(name: str, number: int, *, failing: bool) -> dict[str, object]:
    call = {"id": "c1", "type": "function", "function": {"name": "terminal", "arguments": '{"command": "make test"}'}}
    result = {"output": "2 failed" if failing else f"{number} passed", "exit_code": int(failing)}
    return {
        "session_id": name,
        "model": "m",
        "platform": "cli",
        "session_start": "2026-11-22T10:00:00",
        "last_updated": "2026-11-22T10:05:00",
        "messages": [
            {"role": "user", "content": f"Run the tests of part {number // 2}."},
            {"role": "assistant", "content": "", "tool_calls": [call]},
            {"role": "tool", "tool_call_id": "c1", "content": json.dumps(result)},
            {"role": "assistant", "content": "They failed." if failing else f"Done: {number} passed."},
        ],
    }


@pytest.mark.thorough
def test_all_tables_are_printed_for_a_folder_of_labelled_sessions(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(validity, "_QUICK_HOMES", repeats(1, thorough=2))
    folder = write_places(tmp_path, ("a", "b", "c", "d"))
    main([str(folder), "--quick"])
    printed = capsys.readouterr().out
    assert "432 sessions of 4 sources; 4 have both outcomes" in printed
    assert [line for line in printed.splitlines() if line.startswith("## ")] == [
        "## The order, by a prior that has not seen the family of the place",
        "## No labels, by a prior that has not seen the family of the place",
        "## Labels, through the gate",
        "## Labels that teach nothing",
        "## New tasks of known places, no labels",
        "## Simulated homes",
        "## Claims",
        "## Targets",
    ]
    for table in tables(printed):
        assert len({line.count("|") for line in table}) == 1, table
    assert re.search(r"\| 20 labels, new tasks +\| 4 +\| 0\.\d{3} \(", printed)
    assert re.search(r"adopted judges that lose > \.02 of MCC +\d+ of \d+", printed)


@pytest.mark.thorough
def test_sessions_kept_aside_are_judged_by_the_prior_of_the_package(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = write_places(tmp_path, ("a",))
    main(["--aside", str(folder), "--quick", "--jobs", "1"])
    printed = capsys.readouterr().out
    assert re.search(r"\| all own sessions +\| 1 +\| 0\.\d{3} +\|", printed)
    assert "20 labels, new tasks" in printed
    assert "New tasks of known places" not in printed


@pytest.mark.thorough
def test_the_order_alone_is_told_place_by_place(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = write_places(tmp_path, ("a", "b", "c"))
    main(["--order", str(folder), "--jobs", "1"])
    printed = capsys.readouterr().out
    assert [line for line in printed.splitlines() if line.startswith("## ")] == [
        "## The order, by a prior that has not seen the family of the place",
        "## Targets",
    ]
    assert re.search(r"^place_b +– +\d+% +0\.[678]\d\d +1\.\d{3} +1\.\d{3}$", printed, re.MULTILINE)
    assert re.search(r"^mean of 3 +all +\d+% +0\.\d{3} \(", printed, re.MULTILINE)


def test_the_order_of_sessions_kept_aside_is_that_of_the_prior_of_the_package(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = write_places(tmp_path, ("a",))
    main(["--aside", str(folder), "--order", "--jobs", "1"])
    printed = capsys.readouterr().out
    assert "order: worst ten over all" in printed
    assert "20 labels" not in printed


def test_equal_ones_at_the_border_of_the_worst_ten_count_by_their_mean() -> None:
    completed = [False, *[True, False] * 2, *[True] * 15]
    assert share_of_lowest([0.1, *[0.2] * 4, *[0.9] * 15], completed) == pytest.approx(0.25)
    assert share_of_lowest([0.1, 0.2, *[0.9] * 18], completed) == pytest.approx(0.5)


def test_a_place_is_judged_by_a_prior_that_has_not_seen_its_family(tmp_path: Path) -> None:
    cases = read_cases([write_places(tmp_path, ("a", "b"))], jobs=1)
    others = [case for case in cases if case.sample.family != "a"]
    assert without_family(cases, "a") == learn(others, version="without-a")


def test_labels_and_tested_sessions_share_no_task(tmp_path: Path) -> None:
    cases = read_cases([write_places(tmp_path, ("a",))], jobs=1)
    own, others = split(cases, 20, random.Random(1))
    assert {case.sample.task for case in own}.isdisjoint(case.sample.task for case in others)
    assert len(own) + len(others) == len(cases)


@pytest.mark.thorough
def test_shuffled_labels_keep_how_many_were_completed_and_teach_no_weights(tmp_path: Path) -> None:
    cases = read_cases([write_places(tmp_path, ("a", "b"))], jobs=1)
    places = places_of(cases)
    world = World(places=places, priors={"place_a": without_family(cases, "a")})
    [key, *_] = trial_keys(places, Truth.SHUFFLED, seeds=1, labels=(20,))
    found = with_labels(world, key)
    assert key == LabelKey("place_a", 20, Truth.SHUFFLED, 0)
    assert found is not None
    assert (found.given, found.taught in (Taught.NOTHING, Taught.LEVEL)) == (20, True)


@pytest.mark.thorough
def test_what_was_learned_in_a_home_is_known_by_its_labels(tmp_path: Path) -> None:
    cases = read_cases([write_places(tmp_path, ("a", "b"))], jobs=1)
    home = [case for case in cases if case.sample.family == "a"]
    context = without_family(cases, "a")
    before = look(context, home)
    after = look(context, home, home[:20], before=before)
    assert (new_home(context).taught, before.taught) == (Taught.NOTHING, Taught.NOTHING)
    assert before.constant == context.prior.base_rate
    assert after.constant == sum(case.sample.completed for case in home[:20]) / 20


def test_places_of_one_family_make_a_mean_no_surer_than_one_place_of_it() -> None:
    apart = over_places([("a", 0.5), ("b", 0.7)])
    relatives = over_places([("a", 0.5), ("a", 0.5), ("b", 0.7), ("b", 0.7)])
    assert relatives.value == apart.value == pytest.approx(0.6)
    assert relatives.low == pytest.approx(apart.low)
    assert relatives.high == pytest.approx(apart.high)
    assert over_places([("a", 0.5)]).low is None


def test_a_verdict_is_measured_beside_the_rules_and_a_constant() -> None:
    said = [
        Judged("1", completed=True, likely=0.9, verdict=True, unsure=False, by_rules=False, constant=0.5),
        Judged("2", completed=False, likely=0.1, verdict=False, unsure=True, by_rules=True, constant=0.5),
    ]
    found = worth(said)
    assert (found.auc, found.mcc, found.rules_auc, found.rules_mcc) == (1.0, 1.0, 0.0, -1.0)
    assert found.skill == pytest.approx(1 - 0.01 / 0.25)
    assert found.ece == pytest.approx(0.1)
    assert (found.constant_skill, found.constant_ece) == (0.0, 0.0)
    assert (found.unsure, found.wrong_unsure, found.wrong_sure) == (0.5, 0.0, 0.0)


def tables(printed: str) -> list[list[str]]:
    """The tables in a text, each as its lines."""
    return [block.splitlines() for block in re.findall(r"(?:^\|.*\n)+", printed, re.MULTILINE)]
