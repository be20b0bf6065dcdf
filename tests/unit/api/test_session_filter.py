"""The table of filters: what prompt, page and API ask for by it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta

import msgspec
import pytest

from grader_daemon.api.session_filter import ADDRESSED, PROMPTED, Filter, Home, Text, filter_of
from grader_daemon.domain.verdict import Outcome, VerdictBy
from grader_daemon.errors import InputError
from grader_daemon.storage.records import GradeFilter, SortKey

_BEGIN = datetime(2026, 11, 1, tzinfo=UTC)


def _begin_of(span: float | timedelta | datetime) -> datetime:
    return span if isinstance(span, datetime) else _BEGIN


_MODELS = ["claude-opus-4", "claude-opus-4-5", "haiku"]
_HOME = Home(_begin_of, find_issue=lambda prefix: f"{prefix}-whole", names=lambda _: _MODELS)


def _sayings(asked: Filter) -> list[str]:
    """Return what a filter may be given: of a choice everything."""
    return list(asked.choices) or ["12h" if asked.takes is Text.MOMENT else "7"]


def _set_by(filters: Iterable[Filter]) -> set[str]:
    """Return the fields that the filters set, each given alone."""
    plain = msgspec.structs.asdict(GradeFilter())
    made = [filter_of([each], {each.name: said}, _HOME) for each in filters for said in _sayings(each)]
    return {name for which in made for name, value in msgspec.structs.asdict(which).items() if value != plain[name]}


def test_every_field_of_a_filter_can_be_asked_for() -> None:
    pages = {"before", "limit"}
    every = set(GradeFilter.__struct_fields__) - pages

    assert _set_by(PROMPTED) == every - {"since"}  # which is an option of other commands, too
    assert _set_by(ADDRESSED) == every - {
        "completed",
        "unsure",
    }  # the best guess and a part of `verdict`, for the prompt


def test_a_name_says_one_thing_in_each_place() -> None:
    for filters in (PROMPTED, ADDRESSED):
        assert max(Counter(each.name for each in filters).values()) == 1
        assert max(Counter(each.option or each.name for each in filters).values()) == 1


def test_what_is_given_becomes_one_filter() -> None:
    given = {
        "verdict": "not_done",
        "days": "7",
        "until": "2026-11-08",
        "issue": "9-f",
        "person": "",
        "sort": "cost",
    }

    assert filter_of(ADDRESSED, {**given, "page": "3"}, _HOME) == GradeFilter(
        verdict=Outcome.NOT_DONE,
        since=_BEGIN,
        until=datetime(2026, 11, 8),  # noqa: DTZ001  the home knows its zone
        issue="9-f-whole",
        verdict_by=VerdictBy.PERSON,
        sort=SortKey.COST,
    )


@pytest.mark.parametrize(
    ("said", "meant"),
    [
        pytest.param("Opus", ("claude-opus-4", "claude-opus-4-5"), id="a-part-of-several"),
        pytest.param("hai", "haiku", id="a-part-of-one"),
        pytest.param("claude-opus-4", "claude-opus-4", id="a-whole-name-that-begins-another"),
        pytest.param("gpt", "gpt", id="a-part-of-none"),
    ],
)
@pytest.mark.parametrize("filters", [PROMPTED, ADDRESSED])
def test_a_part_of_a_models_name_means_all_that_have_it(
    filters: tuple[Filter, ...], said: str, meant: str | tuple[str, ...]
) -> None:
    assert filter_of(filters, {"model": said}, _HOME).model == meant


def test_what_is_none_of_the_values_is_told_with_them() -> None:
    with pytest.raises(InputError, match=r"kind must be one of main, sub_agent, cron, review, not 'helper'"):
        filter_of(ADDRESSED, {"kind": "helper"}, _HOME)


def test_the_prompt_and_addresses_have_a_filter_by_the_same_name() -> None:
    addressed = {each.name: each.takes for each in ADDRESSED}
    assert [each.name for each in PROMPTED if addressed.get(each.name, each.takes) != each.takes] == []
