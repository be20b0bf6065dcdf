from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grader_daemon.analysis.analyzer import Analyzer
from grader_daemon.analysis.user_messages import as_typed, digest_of, invocation_of
from grader_daemon.rules import load_rules
from tests.hermes_skills import BUNDLE, LOADED, STACKED, bundle, loaded
from tests.strategies import answer, session, user

TAGGED = '<skill name="deploy" location="/s/deploy/SKILL.md">\nReferences are relative to /s/deploy.\n\nGo.\n</skill>'
ASK = "Look up the price of tin and tell me what it cost a year ago"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        pytest.param(loaded(ASK), ASK, id="what-was-added-to-one"),
        pytest.param(loaded(ASK, note="it is late"), ASK, id="without-what-hermes-adds"),
        pytest.param(loaded(f"{ASK}\n\nPlease."), f"{ASK}\n\nPlease.", id="of-several-lines"),
        pytest.param(loaded(""), "/deploy", id="the-command-alone"),
        pytest.param(loaded(" \n"), "/deploy", id="blanks-are-nothing"),
        pytest.param(loaded("", note="it is late"), "/deploy", id="a-note-is-no-word-of-a-person"),
        pytest.param(loaded("", name="devops/deploy"), "/deploy", id="a-command-has-no-category"),
        pytest.param(LOADED[:180], "/deploy", id="a-message-that-was-cut"),
        pytest.param(bundle(ASK), ASK, id="what-was-added-to-several"),
        pytest.param(bundle(""), "/release", id="the-name-of-a-bundle"),
        pytest.param(bundle(ASK, header=STACKED), ASK, id="what-was-added-to-two-commands"),
        pytest.param(bundle("", header=STACKED), "/deploy /changelog", id="two-commands"),
        pytest.param(BUNDLE.partition("\n")[0], "/release", id="a-bundle-that-was-cut"),
        pytest.param(f"{TAGGED}\n\n{ASK}", ASK, id="what-was-added-to-one-of-pi"),
        pytest.param(TAGGED, "/deploy", id="the-command-alone-of-pi"),
        pytest.param(TAGGED[:90], "/deploy", id="a-message-of-pi-that-was-cut"),
    ],
)
def test_a_person_said_what_they_typed_and_not_what_the_skill_says(text: str, said: str) -> None:
    assert as_typed(text) == said


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(ASK, id="a-request"),
        pytest.param(f"What does this mean? {LOADED}", id="quoted"),
        pytest.param("[IMPORTANT: The user has invoked the brakes.]", id="begun-alike"),
        pytest.param(f"What does this mean? {TAGGED}", id="quoted-of-pi"),
        pytest.param('[IMPORTANT: The user has invoked the "deploy" procedure, so go.]', id="begun-more-alike"),
    ],
)
def test_any_other_message_is_as_it_was_typed(text: str) -> None:
    assert invocation_of(text) is None
    assert as_typed(text) is text


@given(st.text())
def test_whatever_follows_the_head_somebody_said_something(rest: str) -> None:
    for head in (LOADED, BUNDLE, TAGGED):
        invocation = invocation_of(head + rest)
        assert invocation is not None
        assert invocation.said.strip()


def test_the_text_of_a_skill_is_no_request() -> None:
    rules = load_rules()
    analysis = Analyzer(rules).analyze(session(user(loaded(ASK)), answer("30,000 dollars.")))
    assert (analysis.task_type, analysis.task_summary) == ("research", ASK)
    assert analysis.request == digest_of(ASK, rules.people)
    assert not analysis.had_user_clarification


def test_a_command_alone_is_the_request() -> None:
    analysis = Analyzer(load_rules()).analyze(session(user(loaded("", name="tin-price")), answer("30,000 dollars.")))
    assert (analysis.task_type, analysis.task_summary, analysis.request) == ("general", "/tin-price", None)
