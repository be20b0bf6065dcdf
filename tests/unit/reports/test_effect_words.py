from __future__ import annotations

from typing import Any

import msgspec
import pytest

from grader_daemon.domain.estimate import NO_FIGURE, Estimate, Figure, figure, proportion
from grader_daemon.domain.setup_changes import SetupChange, SetupChanges, SetupKind, Unsteady
from grader_daemon.reports.change_words import change_words, mark_words
from grader_daemon.reports.effect_words import (
    direction_told,
    effect_lines,
    effect_title,
    examined_words,
    unsteady_words,
)
from grader_daemon.reports.html import render_html
from grader_daemon.reports.plain_text_report import render_text
from grader_daemon.reports.safe_text import plain
from tests.reports_examples import example_change, example_effect, example_report, example_trend
from tests.strategies import NOW

DIGESTS = {"before": "5f", "after": "4e"}


@pytest.mark.parametrize(
    ("change", "words", "mark"),
    [
        pytest.param({}, "the model of hermes changed from hermes-5 to hermes-5-mini", "model", id="model"),
        pytest.param(
            {"kind": SetupKind.AGENT_VERSION, "agent": "codex", "before": "1", "after": "2"},
            "the version of codex changed from 1 to 2",
            "agent versi…",
            id="version",
        ),
        pytest.param(
            {"kind": SetupKind.SYSTEM_PROMPT, **DIGESTS},
            "the system prompt of hermes changed",
            "system prom…",
            id="digests-are-not-told",
        ),
        pytest.param(
            {"kind": SetupKind.SKILL, "name": "deploy", "agent": None, **DIGESTS},
            "skill deploy was edited",
            "deploy",
            id="skill",
        ),
        pytest.param(
            {"kind": SetupKind.CONFIGURATION, "name": "config.yaml", **DIGESTS, "before": None},
            "config.yaml of hermes was added",
            "config.yaml",
            id="new-file",
        ),
        pytest.param(
            {"kind": SetupKind.SKILL, "name": "deploy", "agent": None, **DIGESTS, "after": None},
            "skill deploy was removed",
            "deploy",
            id="what-was-removed",
        ),
    ],
)
def test_a_change_says_what_changed_and_whose(change: dict[str, Any], words: str, mark: str) -> None:
    changed: SetupChange = example_change(**change)

    assert plain(change_words(changed)) == words
    assert mark_words([changed]) == mark
    assert mark_words([changed, changed]) == "2 changes"


def test_an_effect_says_the_difference_what_it_rests_on_and_what_else_changed() -> None:
    effect = example_effect()

    said = [plain(effect_title(effect)), *map(plain, effect_lines(effect))]

    assert said[0] == "−29 points (−46 to −11) since the model of hermes changed from hermes-5 to hermes-5-mini"
    assert said[1] == (
        "18 November 2026, 05:40 UTC; 79 sessions before, 41 since;"
        " completion 71 % (60–80 %) before, 41 % (28–57 %) since, mix corrected."
    )
    assert said[2:] == [
        "At the same time: skill deploy of hermes was edited.",
        "Also in the compared time: the list of tools of hermes changed.",
    ]


def test_what_is_not_sure_says_so() -> None:
    assert plain(effect_title(example_effect(is_sure=False))).startswith(
        "No sure difference, −29 points (−46 to −11), "
    )


def test_what_did_not_change_besides_is_not_spoken_of() -> None:
    effect = example_effect(changes=(example_change(),), meanwhile=())

    assert len(list(effect_lines(effect))) == 1


def test_too_few_say_how_many_more_are_needed() -> None:
    nothing = Figure(now=Estimate(sample=12), before=Estimate(sample=29), change=Estimate(sample=12))
    effect = example_effect(completion=nothing, missing_before=1, missing_after=18, is_sure=False)

    assert plain(effect_title(effect)).startswith("Too few sessions to compare since the model")
    assert "30 requests are needed on each side: 1 more before, 18 more since." in map(plain, effect_lines(effect))


def test_without_labels_it_says_how_many_are_needed() -> None:
    nothing = Figure(now=Estimate(), before=Estimate(sample=6), change=Estimate())
    effect = example_effect(completion=nothing, labels_missing_before=14, labels_missing_after=20, is_sure=False)

    assert plain(effect_title(effect)).startswith("Too few labels to compare completion since the model")
    assert (
        "A comparison needs about 50 random labels on each side, at least 20: 14 more before, 20 more since."
        " Next: grader-daemon label." in map(plain, effect_lines(effect))
    )


def test_rates_by_labels_say_how_many_they_are() -> None:
    rates = [Estimate(value=value, low=value - 0.1, high=value + 0.1, sample=30) for value in (0.4, 0.7)]
    effect = example_effect(completion=figure(*rates), by_words=True)

    assert plain(next(effect_lines(effect))).endswith(", by 30 and 30 random labels, mix corrected.")


def test_what_differs_all_the_time_is_named_as_a_sentence() -> None:
    said = plain(unsteady_words(Unsteady(agent="hermes", kind=SetupKind.SYSTEM_PROMPT, values=41, sessions=60)))

    assert said == "The system prompt of hermes differs in most sessions (41 in 60), so single changes are not shown."


def test_a_report_has_changes_and_marks_them_on_its_trends() -> None:
    *before, last = example_trend()
    changed = msgspec.structs.replace(last, changes=(example_change(),))
    report = example_report(trend=(*before, changed))

    assert "since the model of hermes changed" in render_text(report, width=100)
    assert ">model</text>" in render_html(report)
    assert ">model</text>" not in render_html(example_report())


def test_a_report_of_a_version_that_did_not_look_says_nothing_of_changes() -> None:
    assert "Changes" not in render_text(example_report(changes=None), width=100)
    assert "The agents' set-up did not change." in render_text(example_report(changes=()), width=100)


@pytest.mark.parametrize(
    ("since", "differ", "title", "line"),
    [
        pytest.param(30, True, "Bad endings +50 points (+29 to +65) since ", "clearly more.", id="more"),
        pytest.param(0, True, "Bad endings −20 points (−35 to −7) since ", "clearly fewer.", id="fewer"),
        pytest.param(10, False, "Too few labels to compare completion since ", "no clear difference.", id="not-sure"),
    ],
)
def test_bad_endings_stand_beside_a_completion_that_cannot_be_seen_yet(
    since: int, differ: bool, title: str, line: str
) -> None:
    bad = figure(proportion(since, 43), proportion(8, 40))
    effect = example_effect(
        completion=NO_FIGURE, labels_missing_before=20, labels_missing_after=20, is_sure=False,
        ended_badly=bad, facts_differ=differ,
    )  # fmt: skip
    assert plain(effect_title(effect)).startswith(title)
    [told] = [words for words in map(plain, effect_lines(effect)) if words.startswith("Bad endings")]
    assert told.endswith(line)


def test_a_direction_is_told_by_completion_before_bad_endings() -> None:
    sure = example_effect(completion=figure(proportion(50, 60), proportion(20, 60)), is_sure=True)
    by_facts = example_effect(
        is_sure=False, facts_differ=True, ended_badly=figure(proportion(30, 60), proportion(3, 60))
    )
    assert (direction_told(sure), direction_told(by_facts)) == ("better", "worse")
    assert direction_told(example_effect(is_sure=False)) is None


@pytest.mark.parametrize(("since", "bad", "word"), [(30, 12, "worse"), (54, 4, "better")])
def test_what_facts_and_labels_show_together_is_told_as_such(since: int, bad: int, word: str) -> None:
    effect = example_effect(
        completion=figure(proportion(since, 60), proportion(42, 60)), is_sure=False, together_differ=True,
        ended_badly=figure(proportion(bad, 60), proportion(8, 60)),
    )  # fmt: skip
    assert plain(effect_title(effect)).startswith(f"Clearly {word} by bad endings and completion together since ")
    assert direction_told(effect) == word
    [told] = [words for words in map(plain, effect_lines(effect)) if words.startswith("Bad endings")]
    assert "no clear difference alone; with completion, " in told


@pytest.mark.parametrize(
    ("earlier", "later", "words"),
    [
        pytest.param(4, 16, ["Bad endings already rose before the change: first 10 % ("], id="more"),
        pytest.param(16, 2, ["Bad endings already fell before the change: first 40 % ("], id="fewer"),
        pytest.param(8, 9, [], id="level"),
    ],
)
def test_a_slope_before_a_change_is_told(earlier: int, later: int, words: list[str]) -> None:
    bad = figure(proportion(8, 40), proportion(18, 80))
    slope = figure(proportion(later, 40), proportion(earlier, 40))
    said = map(plain, effect_lines(example_effect(ended_badly=bad, slope_before=slope)))
    assert [line[: len(words[0])] for line in said if line.startswith("Bad endings already")] == words


def test_what_was_examined_is_told_with_its_time() -> None:
    changes = SetupChanges(since=NOW, sessions=3, scheduled=0, known={}, effects=(), unsteady=())
    assert examined_words(changes) == ("3 finished tasks examined, since 21 November 2026 and in the 4 weeks before.")
