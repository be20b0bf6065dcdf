"""The final answer: where it is found, whether it fits the question, and which results hold it."""

from __future__ import annotations

import pytest

from grader_daemon.domain.session import Message
from tests.feature_values import calling, value_of
from tests.strategies import answer, result, user
from tests.tables import for_each

PERSON = user("Who wrote the book Dune?")
COUNT = user("How many moons has Mars?")
CHOICE = user("Which is older, Rome or Oslo?")
LOOK = calling("search", '{"query": "it"}')


def case(name: str, expected: float, *messages: Message, because: str) -> object:
    return pytest.param(name, messages, expected, id=f"{name}-{because}")


@for_each(
    ("name", "messages", "expected"),
    [
        case("final_marked", 1, PERSON, answer("I know.\n\nAnswer: Herbert"), because="behind-a-word"),
        case("final_marked", 1, PERSON, answer("<solution> Herbert </solution>"), because="in-a-tag"),
        case("final_marked", 1, PERSON, answer('FINISH(["Herbert"])'), because="given-to-a-call"),
        case("final_marked", 0, PERSON, answer("Herbert"), because="said-as-it-is"),
        case("final_words", 1.099, PERSON, answer("So.\nAnswer: the Frank Herbert"), because="without-the-article"),
        case("final_words", 0, PERSON, answer("Answer: " + "word " * 30), because="a-long-one"),
        case("final_words", 0, user("Who wrote the script?"), answer("Answer: Me"), because="work-on-files"),
        case("final_words", 0, PERSON, LOOK, because="no-answer"),
        case("final_fits", 1, PERSON, answer("Answer: Frank Herbert"), because="a-name"),
        case("final_fits", 0, PERSON, answer("Answer: in 1965"), because="a-year-for-a-name"),
        case("final_fits", 1, COUNT, answer("FINISH([2])"), because="a-number"),
        case("final_fits", 1, COUNT, answer("Answer: two"), because="a-number-in-words"),
        case("final_fits", 0, COUNT, answer("Answer: Phobos"), because="a-name-for-a-number"),
        case("final_fits", 0, COUNT, answer('FINISH(["2"])'), because="a-number-as-text"),
        case("final_fits", 1, user("When was it?"), answer("Answer: May"), because="a-month"),
        case("final_fits", 1, user("So. Is Rome old?"), answer("Answer: yes"), because="yes-or-no"),
        case("final_fits", 0, user("Is Rome old?"), answer("Answer: Rome"), because="neither-yes-nor-no"),
        case("final_fits", 1, CHOICE, answer("Answer: Rome"), because="one-of-two"),
        case("final_fits", 0, CHOICE, answer("Answer: Paris"), because="neither-of-two"),
        case("final_fits", 1, user("Is Rome or Oslo older?"), answer("Answer: Rome"), because="a-choice-by-a-verb"),
        case("final_fits", 0, CHOICE, answer("Answer: no"), because="no-to-a-choice"),
        case("final_fits", 0, user("Which city?"), answer("Answer: no"), because="no-to-an-open-question"),
        case("final_fits", 1, user("Say true or false."), answer("Answer: true"), because="true-was-offered"),
        case("final_fits", 0.5, user("Which city?"), answer("Answer: Rome"), because="any-form-may-do"),
        case("final_fits", 0.5, user("Do several at once"), answer("Ran them in parallel."), because="an-order"),
        case("final_fits", 0, user("Do they match"), answer("Ran them."), because="a-question-without-its-mark"),
        case("final_fits", 0, user("Do several match?"), answer("Ran them."), because="a-question"),
        case("final_of_two", 1, CHOICE, answer("Answer: Rome"), because="one-of-two"),
        case("final_of_two", 0, PERSON, answer("Answer: Herbert"), because="an-open-question"),
        case("final_gives_up", 1, PERSON, answer("Answer: unknown"), because="a-word"),
        case("final_gives_up", 1, PERSON, answer("Answer: It could not be found"), because="a-phrase"),
        case("final_gives_up", 0, COUNT, answer("Answer: 1"), because="one-is-an-answer"),
        case("final_gives_up", 1, user("How many? -1 if unknown."), answer("FINISH([-1])"), because="as-was-asked"),
        case("final_gives_up", 0, COUNT, answer("FINISH([-1])"), because="a-number-below-zero"),
        case("final_gives_up", 0, PERSON, answer("Answer: None Such"), because="the-word-in-a-name"),
        case("final_asked", 0.5, PERSON, answer("Answer: Herbert of Dune"), because="one-of-two-words"),
        case("final_asked", 0, CHOICE, answer("Answer: Rome"), because="a-choice-repeats"),
    ],
)
def test_form(name: str, messages: tuple[Message, ...], expected: float) -> None:
    assert value_of(name, *messages) == expected


RAN = (calling("python", '{"code": "x"}'), result("a = 1234.5678"))
HELD = (PERSON, LOOK, result("Dune is a book by Frank Herbert."), LOOK, result("A planet."))


@pytest.mark.parametrize(
    ("name", "messages", "expected"),
    [
        case("final_seen", 1, *HELD, answer("Answer: Frank Herbert"), because="word-for-word"),
        case("final_seen", 0, *HELD, answer("Answer: Herbert Frank"), because="in-another-order"),
        case("final_seen", 0.5, PERSON, answer("Answer: Herbert"), because="no-result"),
        case("final_seen", 0.5, *HELD, answer("Answer: B"), because="a-letter-of-a-choice"),
        case("final_words_seen", 0.5, *HELD, answer("Answer: Brian Herbert"), because="one-of-two"),
        case("final_words_seen", 0.5, *HELD, answer("Answer: Dune"), because="nothing-new"),
        case("final_backing", 0.666, *HELD, answer("Answer: Herbert"), because="book-and-dune-beside-it"),
        case("final_backing", 0, *HELD, answer("Answer: planet"), because="nothing-asked-beside-it"),
        case("final_results", 0.693, *HELD, answer("Answer: Herbert"), because="one"),
        case("final_is_result", 1, *HELD, answer("Answer: planet"), because="all-it-says"),
        case("final_is_result", 0, *HELD, answer("Answer: Herbert"), because="another-result"),
        case("final_computed", 1, COUNT, *RAN, answer("Answer: 1,234.57"), because="rounded"),
        case("final_computed", 0, COUNT, *RAN, answer("Answer: 1234.56"), because="another-number"),
        case("final_computed", 0.5, COUNT, *RAN, answer("Answer: many"), because="no-number"),
        case("final_computed", 0.5, COUNT, LOOK, result("3"), answer("Answer: 2"), because="no-code-was-run"),
        case(
            "final_reasoned", 1, PERSON, answer("It was Frank Herbert.\nAnswer: Frank Herbert"), because="said-before"
        ),
        case("final_reasoned", 0, PERSON, answer("It was him.\nAnswer: Frank Herbert"), because="said-once"),
    ],
)
def test_what_holds_it(name: str, messages: tuple[Message, ...], expected: float) -> None:
    assert value_of(name, *messages) == expected
