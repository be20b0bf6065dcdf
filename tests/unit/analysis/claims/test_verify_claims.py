from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grader_daemon.analysis import Analyzer
from grader_daemon.analysis.claims.verify import LONGEST_SUBJECT
from grader_daemon.domain.claims import Claim, ClaimKind, Support
from grader_daemon.domain.session import FunctionCall, Message, Session, ToolCall
from grader_daemon.rules import load_rules
from tests.strategies import WORKED, answer, rounds, session, sessions, user
from tests.timing import cpu_seconds, is_done_within

CLAIMS = (
    "I've written `a.py`.",
    "All 12 tests pass.",
    "The bug is fixed.",
    "I committed it.",
    "I installed `rich`.",
    "I deployed it.",
    "I sent the mail.",
    "I ran `make all`.",
    "I cancelled order #W12345.",
    "`./run.sh` runs without errors.",
)


@pytest.fixture(scope="module")
def analyzer() -> Analyzer:
    return Analyzer(load_rules())


def test_a_claim_names_the_message_that_makes_it(analyzer: Analyzer) -> None:
    found = analyzer.analyze(session(user("Do it"), *rounds(WORKED), answer("I committed it.")))
    assert found.claims == (Claim(ClaimKind.COMMITTED, Support.UNSUPPORTED, None, 3, ()),)


def test_a_session_without_a_final_answer_claims_nothing(analyzer: Analyzer) -> None:
    assert analyzer.analyze(session(answer("I committed it."), user("Thanks"))).claims == ()


def test_the_same_claim_stands_once(analyzer: Analyzer) -> None:
    found = analyzer.analyze(session(answer("I fixed the bug. The bug has been fixed.")))
    assert len(found.claims) == 1


def test_a_subject_holds_no_secret_and_no_control_character(analyzer: Analyzer) -> None:
    secret = "sk-proj-" + "a1B2" * 12
    found = analyzer.analyze(session(answer(f"I ran `deploy \x1b[31m --key={secret}`.")))
    subject = found.claims[0].subject
    assert subject is not None
    assert secret not in subject
    assert subject.isprintable()


def test_a_subject_is_cut(analyzer: Analyzer) -> None:
    subject = analyzer.analyze(session(answer(f"I wrote {'a' * 60}/{'b' * 100}.py"))).claims[0].subject
    assert subject is not None
    assert len(subject) == LONGEST_SUBJECT


@given(made=sessions(), said=st.lists(st.sampled_from(CLAIMS), min_size=1, max_size=10))
def test_any_session_gives_claims_whose_messages_it_holds(analyzer: Analyzer, made: Session, said: list[str]) -> None:
    whole = session(*made.messages, answer(" ".join(said)), compacted=made.compacted)
    found = analyzer.analyze(whole).claims
    last = len(whole.messages) - 1
    assert all(claim.index == last and all(0 <= index < last for index in claim.evidence) for claim in found)
    assert all(claim.support is not Support.VERIFIED or claim.evidence for claim in found)


def calls(command: str, count: int) -> tuple[Message, ...]:
    function = FunctionCall(name="terminal", arguments={"command": command})
    asked = Message(role="assistant", tool_calls=(ToolCall(id="c", function=function),))
    return (asked, Message(role="tool", content=WORKED, tool_call_id="c")) * count


def test_claims_about_many_calls_take_bounded_time(analyzer: Analyzer) -> None:
    made = calls("pytest -q", 20_000)

    def find_claims(*said: Message) -> None:
        assert bool(analyzer.analyze(session(*made, *said)).claims) == bool(said)

    silent = cpu_seconds(find_claims)
    assert is_done_within(3 * silent, lambda: find_claims(answer(" ".join(CLAIMS))))


@pytest.mark.parametrize(
    "command",
    [
        pytest.param("a.py " * 800, id="names"),
        pytest.param("cp " * 1300, id="programs"),
        pytest.param("<<" * 2000, id="here-documents"),
        pytest.param("git checkout " * 300, id="separate-words"),
        pytest.param("test " * 800, id="words"),
        pytest.param("python -m test/" * 260, id="paths"),
        pytest.param("sed -n " * 600, id="options"),
        pytest.param("'" * 4000, id="quotes"),
        pytest.param("docker run " * 350, id="containers"),
        pytest.param("curl " * 800, id="clients"),
        pytest.param("git -a " * 500, id="options-of-git"),
        pytest.param("echo '" * 600, id="spoken"),
        pytest.param("pytest " * 500, id="test-runs"),
        pytest.param("pip a a a " * 400, id="installers"),
    ],
)
def test_any_command_takes_bounded_time(analyzer: Analyzer, command: str) -> None:
    made = session(*calls(command, 500), answer(" ".join(CLAIMS)))

    def find_claims() -> None:
        assert analyzer.analyze(made).claims

    assert is_done_within(3, find_claims)
