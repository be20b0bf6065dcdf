"""How things were looked up, each sign by a session that has it."""

from __future__ import annotations

import pytest

from grader_daemon.domain.session import Message
from tests.feature_values import calling, value_of
from tests.strategies import answer, result, user
from tests.tables import for_each

ASK = user("who is Frank of Rome?")
LOOK = calling("search", '{"query": "it"}')
PRIEST = (calling("search", '{"query": "priest"}'), result("A priest is one."))
SUBMITTED = (calling("submit", "{}"), result("Done"))


def case(name: str, expected: float, *messages: Message, because: str) -> object:
    return pytest.param(name, messages, expected, id=f"{name}-{because}")


def looked(*results: str) -> list[Message]:
    return [message for said in results for message in (LOOK, result(said))]


def queried(query: str, gave: str = "1") -> list[Message]:
    return [calling("sql", {"command": query}), result(gave)]


@for_each(
    ("name", "messages", "expected"),
    [
        case("missed", 0.5, ASK, *looked("Could not find it.", "It is."), because="said-in-words"),
        case("missed", 1, ASK, *looked('{"total": 0}'), because="a-count-of-zero"),
        case("missed", 0, ASK, *looked('{"total": 0.5}'), because="no-count"),
        case("missed", 1, ASK, *looked('{"rows": []}'), because="an-empty-list"),
        case("missed", 1, ASK, *looked("[]"), because="nothing-else"),
        case("missed", 1, ASK, *looked("None"), because="no-value"),
        case("missed_last", 0, ASK, *looked("No results.", "It is."), because="found-afterwards"),
        case("missed_last", 1, ASK, *looked("It is.", "No results."), because="found-before"),
        case("missed_last", 0, ASK, because="no-result"),
        case("names_seen", 0.5, ASK, *looked("frank"), because="one-of-two"),
        case("names_called", 0.5, ASK, calling("search", '{"query": "Rome"}'), because="one-of-two"),
        case("names_answered", 1, ASK, answer("Frank of Rome."), because="both"),
        case("second_step", 1, ASK, *looked("A priest"), *PRIEST, because="found-before"),
        case("second_step", 1, ASK, *looked("A priest"), *PRIEST, *SUBMITTED, because="before-handing-in"),
        case("second_step", 0, ASK, *PRIEST, *SUBMITTED, because="found-by-the-call-itself"),
        case("second_step", 0, user("Which priest?"), *looked("A priest"), *PRIEST, because="asked"),
        case("call_new", 0.5, ASK, calling("search", '{"frank": "saint"}'), because="one-of-two"),
        case("call_new", 0, ASK, because="no-call"),
        case("gap_told", 1, ASK, answer("The page does not mention him."), because="not-mentioned"),
        case("gap_told", 0, ASK, answer("It is not Frank."), because="another-no"),
        case("query_parts", 1.386, ASK, *queried("SELECT a FROM b WHERE c AND d"), because="select-where-and"),
        case("query_parts", 0, ASK, *looked("where"), because="nothing-was-run"),
        case("query_fits", 0.5, user("How many, on average?"), *queried("SELECT COUNT(*)"), because="one-of-two"),
        case("query_fits", 0.5, ASK, *queried("SELECT 1"), because="nothing-needed"),
        case("rows_fit", 1, user("How many?"), *queried("SELECT 1", "[(1,)]"), because="one-for-one"),
        case("rows_fit", 0, user("How many?"), *queried("SELECT 1", "[(1,), (2,)]"), because="two-for-one"),
        case("rows_fit", 1, user("List them"), *queried("SELECT 1", "a\nb"), because="lines-for-a-list"),
        case("rows_fit", 0.5, user("Go on"), *queried("SELECT 1", "a\nb"), because="neither-was-asked"),
        case("many_columns", 1, user("Name it"), *queried("SELECT *", "[('a', 1), ('b', 2)]"), because="two-for-one"),
        case("many_columns", 0, user("Name it"), *queried("SELECT a", "[('a',), ('b',)]"), because="one"),
        case("many_columns", 0, user("Name and age"), *queried("SELECT a", "| a | 1 |"), because="two-were-asked"),
        case("ordered_undone", 1, user("Cancel it"), *looked("It is."), because="only-looked"),
        case("ordered_undone", 0, user("Cancel it"), calling("cancel_it", "{}"), because="done"),
        case("ordered_undone", 0, ASK, *looked("It is."), because="nothing-was-ordered"),
    ],
)
def test_sign(name: str, messages: tuple[Message, ...], expected: float) -> None:
    assert value_of(name, *messages) == expected
