from __future__ import annotations

import pytest

from grader_daemon.analysis.features import FEATURES, WORDS
from grader_daemon.reports.sign_words import NAMED, compared, sign_sentence

_VALUES = (0.0, 0.3, 0.5, 0.7, 1.0, 3.04)


def test_each_feature_has_a_sentence_for_each_value() -> None:
    assert {name for name in FEATURES if not name.startswith("hash:")} | WORDS.keys() == NAMED
    for name in NAMED:
        for value in _VALUES:
            for above in (None, 0.0, 0.5, 1.0):
                told = sign_sentence(name, value, above)
                assert told is not None
                assert told[0].isupper() or told[0].isdigit()
                assert told.endswith(".")
                assert "100 % of your sessions" not in told


@pytest.mark.parametrize(
    ("name", "value", "above", "words"),
    [
        pytest.param("closed", 1.0, 0.8, "One of the last tool calls submits the work.", id="so"),
        pytest.param("closed", 0.0, None, "No call at the end submits the work.", id="not-so"),
        pytest.param("trial", 0.0, 0.1, "The run after the last attempt to write a file failed.", id="not-so-of-three"),
        pytest.param(
            "read_back",
            1.0,
            0.9,
            "A later call names the file that the agent last tried to write.",
            id="tried-to-write",
        ),
        pytest.param("trial", 1.0, 0.9, "The run after the last attempt to write a file worked.", id="so-of-three"),
        pytest.param(
            "trial",
            0.5,
            0.1,
            "Nothing was run after the last attempt to write a file, if there was one.",
            id="unknown-of-three",
        ),
        pytest.param(
            "final_fits",
            0.0,
            0.1,
            "The final answer does not have the form that words of your task suggest, such as a number or yes or no.",
            id="a-form-that-words-suggest",
        ),
        pytest.param(
            "missed",
            0.25,
            0.93,
            "Of the last tool results, 25 % say that nothing was found; in 93 % of your sessions, this share is lower.",
            id="share-and-its-rank",
        ),
        pytest.param(
            "errors_at_end",
            1.0,
            0.88,
            "All of the last three tool results mention an error; in 88 % of your sessions, this share is lower.",
            id="all",
        ),
        pytest.param("empty_results", 0.0, 0.5, "None of the tool results are empty.", id="none-of-them"),
        pytest.param(
            "overcome",
            1.0,
            0.5,
            "All of the failed calls came right before a call that worked, the same or another.",
            id="another-call-worked",
        ),
        pytest.param(
            "left",
            1.0,
            0.93,
            "All of the failed calls never worked later; in 93 % of your sessions with failed calls,"
            " this share is lower.",
            id="share-beside-sessions-that-have-failures",
        ),
        pytest.param("left", 0.3, 0.9, "No call failed, or most failed calls worked later.", id="nothing-to-count"),
        pytest.param(
            "asked_length",
            8.7,
            1.0,
            "There are more characters in the task than in nearly all your sessions.",
            id="most",
        ),
        pytest.param(
            "asked_length", 3.1, 0.1, "There are fewer characters in the task than in 90 % of your sessions.", id="few"
        ),
        pytest.param("claims", 0.0, 0.1, "There are no claims in the answer.", id="no-claims"),
        pytest.param("claims", 1.1, 0.5, "The number of claims in the answer is usual for you.", id="usual"),
        pytest.param("claims", 1.1, None, "The number of claims in the answer matters here.", id="nothing-to-compare"),
        pytest.param("of_another_version", 1.0, None, None, id="unknown"),
    ],
)
def test_a_sentence_stands_alone(name: str, value: float, above: float | None, words: str | None) -> None:
    assert sign_sentence(name, value, above) == words


@pytest.mark.parametrize(
    ("name", "kept"),
    [
        pytest.param("overcome", [0.0, 0.5, 1.0], id="without-sessions-that-have-no-failed-call"),
        pytest.param("worse", [], id="none-where-a-half-has-two-meanings"),
        pytest.param("failures", [0.0, 0.5, 0.7, 1.0], id="all-where-each-session-has-something-to-count"),
    ],
)
def test_sessions_with_nothing_to_count_are_not_compared(name: str, kept: list[float]) -> None:
    assert list(compared(name, [0.0, 0.5, 0.7, 1.0])) == kept
