"""How real sessions ended, as a person read them, and the same as other harnesses would have recorded them."""

from __future__ import annotations

import gzip
import os
from pathlib import Path

import msgspec
import pytest

from grader_daemon.domain.limits import Limits
from grader_daemon.domain.session import USER, Message, Session
from grader_daemon.sources.hermes.snapshot import parse
from tests.feature_values import values_of
from tests.strategies import user

SAMPLES = Path(__file__).parents[3] / "shared" / "data"
ENDS = frozenset(
    {"answered", "unfinished", "says_nothing", "cut_short", "call_last", "write_last", "failure_last", "closed"}
    | {"unanswered", "handed_over", "accepted", "took_leave"}
)

pytestmark = pytest.mark.skipif(
    not (SAMPLES / "truth2").is_dir() and os.environ.get("CI") != "true", reason="the sample sessions are not here"
)


def messages_of(session_id: str) -> tuple[Message, ...]:
    source = session_id.rpartition("-")[0]
    [archive] = SAMPLES.glob(f"truth*/sessions/{source}.jsonl.gz")
    with gzip.open(archive) as lines:
        line = next(line for line in lines if session_id.encode() in line)
    session = parse(line, "session_x.json", limits=Limits())
    assert isinstance(session, Session)
    return session.messages


def told(messages: tuple[Message, ...]) -> set[str]:
    return {name for name, value in values_of(*messages).items() if value and name in ENDS}


def up_to_the_person(messages: tuple[Message, ...]) -> tuple[Message, ...]:
    last = max(index for index, message in enumerate(messages) if message.role == USER)
    return messages[: last + 1]


@pytest.mark.parametrize(
    ("session_id", "expected"),
    [
        pytest.param("gab_tau2-70dda1fdcd75", {"answered", "took_leave"}, id="the-agent-answers-a-goodbye"),
        pytest.param("gab_tau2-fbf76453244f", {"answered", "handed_over"}, id="hand-over-to-a-human"),
        pytest.param("gab_tau2-828b55abde88", {"answered"}, id="waits-for-a-yes"),
        pytest.param("intercode-4ebc1e474191", {"closed"}, id="the-result-of-handing-in"),
        pytest.param("bashkit-0b56c7ca32d9", {"unfinished"}, id="ten-turns-and-the-last-command-counts"),
        pytest.param("super-65760b777576", {"unfinished", "write_last"}, id="ran-out-of-context-behind-an-edit"),
        pytest.param("mint_fb-fafc7e179694", {"unfinished", "unanswered"}, id="a-correction-that-nobody-answered"),
    ],
)
def test_a_real_session_ends_as_a_person_read_it(session_id: str, expected: set[str]) -> None:
    assert told(messages_of(session_id)) == expected


@pytest.mark.parametrize(
    ("session_id", "expected"),
    [
        pytest.param("gab_tau2-70dda1fdcd75", {"took_leave"}, id="goodbye"),
        pytest.param("gab_tau2-ffb351a07880", {"took_leave"}, id="nothing-else-with-thanks"),
        pytest.param("gab_tau2-9ce8007e3551", {"unfinished", "unanswered"}, id="go-ahead"),
    ],
)
def test_a_talk_that_a_harness_ends_behind_the_persons_words_ends_in_these(session_id: str, expected: set[str]) -> None:
    *before, last = up_to_the_person(messages_of(session_id))
    marked = msgspec.structs.replace(last, content=f"{last.text}\n\n###STOP###")
    assert told((*before, marked)) == expected


def test_a_mark_of_a_harness_alone_changes_nothing() -> None:
    messages = messages_of("gab_tau2-fbf76453244f")
    assert values_of(*messages, user("###TRANSFER###")) == values_of(*messages)


def test_a_handing_in_whose_result_nobody_recorded_is_one() -> None:
    *before, _ = messages_of("intercode-4ebc1e474191")
    assert told(tuple(before)) == {"closed", "call_last"}
