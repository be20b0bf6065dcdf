from __future__ import annotations

import tomllib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grader_daemon.setting_sources import edited

SAMPLE = """\
# How long to wait.
# quiet_seconds = 2.0

queue_size = 5  # small here
# Folders.
watch_roots = [
    "~/a",  # mine
    "/b#c",
]
timezone = "x # = y"
"""


@pytest.mark.parametrize(
    ("name", "literal", "old", "new"),
    [
        pytest.param("queue_size", "6", "queue_size = 5  #", "queue_size = 6  #", id="comment-behind-it-stays"),
        pytest.param("queue_size", None, "queue_size = 5  # small here\n", "", id="taken-out"),
        pytest.param("timezone", '"UTC"', '"x # = y"', '"UTC"', id="hash-within-a-text"),
        pytest.param(
            "watch_roots", '["/z"]', '[\n    "~/a",  # mine\n    "/b#c",\n]', '["/z"]', id="list-of-several-lines"
        ),
        pytest.param(
            "quiet_seconds",
            "3.0",
            "# quiet_seconds = 2.0\n",
            "# quiet_seconds = 2.0\nquiet_seconds = 3.0\n",
            id="below-the-comment-that-shows-it",
        ),
        pytest.param("verdict", '"rules"', '= y"\n', '= y"\nverdict = "rules"\n', id="at-the-end"),
        pytest.param("verdict", None, "", "", id="nothing-to-take-out"),
    ],
)
def test_only_the_setting_is_touched(name: str, literal: str | None, old: str, new: str) -> None:
    assert edited(SAMPLE, name, literal) == SAMPLE.replace(old, new, 1 if old else 0)


def test_a_last_line_without_an_end_gets_one() -> None:
    assert edited("queue_size = 5", "verdict", '"rules"') == 'queue_size = 5\nverdict = "rules"\n'


def test_the_first_setting_makes_the_text() -> None:
    assert edited("", "verdict", '"rules"') == 'verdict = "rules"\n'


@given(st.dictionaries(st.sampled_from(["aa", "bb", "cc"]), st.integers() | st.text("ab#\"'\n[]=", max_size=8)))
def test_any_setting_can_be_changed_and_taken_out(before: dict[str, int | str]) -> None:
    import json

    text = "".join(f"# {name}:\n{name} = {json.dumps(value)} # {name} = 0\n" for name, value in before.items())
    changed = edited(text, "bb", "7")
    assert tomllib.loads(changed) == {**before, "bb": 7}
    without = edited(changed, "bb", None)
    assert tomllib.loads(without) == {name: value for name, value in before.items() if name != "bb"}
    assert [line for line in text.splitlines() if line.startswith("# ")] == [
        line for line in without.splitlines() if line.startswith("# ")
    ]
