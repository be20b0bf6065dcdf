"""Beginnings that many texts share."""

from __future__ import annotations

import pytest

from grader_daemon.reports.told_apart import title_among, told_apart

_BEGIN = "You are a software engineer who works on the files of a large project. "
_LINE = "Implement the CSV export of the table"


@pytest.mark.parametrize(
    ("texts", "shown"),
    [
        pytest.param([], [], id="none"),
        pytest.param(
            [f"{_BEGIN}Fix it", "Else", f"{_BEGIN}Fit in", f"{_BEGIN}Test"],
            ["… Fix it", "Else", "… Fit in", "… Test"],
            id="what-differs-follows-at-a-whole-word",
        ),
        pytest.param([f"{_BEGIN}Fix", f"{_BEGIN}Test"], ["… Fix", "… Test"], id="two-are-enough"),
        pytest.param([_BEGIN] * 3, [_BEGIN] * 3, id="the-same-text-has-nothing-that-differs"),
        pytest.param(["Fix a", "Fix b", "Fix c"], ["Fix a", "Fix b", "Fix c"], id="short-beginnings-stay"),
        pytest.param(
            [_BEGIN, f"{_BEGIN}a", f"{_BEGIN}b"], [_BEGIN, "… a", "… b"], id="the-beginning-itself-stays-whole"
        ),
        pytest.param([f"{_LINE} ({n})" for n in "abc"], [f"{_LINE} ({n})" for n in "abc"], id="what-fits-stays-whole"),
        pytest.param([f"{'x' * 40}{n}" for n in "abc"], [f"{'x' * 40}{n}" for n in "abc"], id="no-words"),
    ],
)
def test_shared_beginnings_are_left_out(texts: list[str], shown: list[str]) -> None:
    assert told_apart(texts) == shown


def test_a_title_has_no_beginning_that_others_share() -> None:
    others = [f"{_BEGIN}Fix it", f"{_BEGIN}Test it"]

    assert title_among(f"{_BEGIN}Write it", others) == "… Write it"
    assert title_among(f"{_BEGIN}Fix it", others[:1]) == f"{_BEGIN}Fix it"
