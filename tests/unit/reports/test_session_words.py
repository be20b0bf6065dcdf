"""How the grade of one session reads."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from grader_daemon.domain.analysis import SessionState
from grader_daemon.domain.claims import Claim, ClaimKind, ClaimReason, Support
from grader_daemon.domain.estimate import proportion
from grader_daemon.domain.grade import Reason
from grader_daemon.domain.installed import SkillHow, SkillUse
from grader_daemon.domain.quality import CheckOutcome, QualityCheck
from grader_daemon.domain.session import SessionKind
from grader_daemon.domain.session_result import EVIDENCE_SENTENCES, EndingKind, ResultStanding
from grader_daemon.domain.similar import Similar, SimilarSession
from grader_daemon.domain.verdict import Outcome, VerdictCounts
from grader_daemon.reports.session_words import (
    after_the_last,
    agent_words,
    asked_words,
    borne_out,
    brief_state,
    checked_words,
    claim_words,
    effect_words,
    ending_words,
    feature_words,
    flag_words,
    gone_words,
    likely_note,
    likeness_words,
    messages_words,
    moved_words,
    of_five,
    reason_words,
    record_words,
    resume_command,
    said_words,
    skill_words,
    standing_sentence,
    standing_words,
    state_words,
    why_words,
)
from tests.feedback_examples import feedback
from tests.strategies import NOW, grade


@pytest.mark.parametrize(
    ("agent", "kind", "words"),
    [
        pytest.param("codex", None, "codex", id="not-told-who-had-it-begun"),
        pytest.param("codex", SessionKind.MAIN, "codex", id="a-person"),
        pytest.param("codex", SessionKind.SUB_AGENT, "codex sub-agent", id="another-session"),
        pytest.param(None, None, None, id="nothing-known"),
    ],
)
def test_whose_session_it_is_and_who_had_it_begun(
    agent: str | None, kind: SessionKind | None, words: str | None
) -> None:
    assert agent_words(grade(agent=agent, kind=kind)) == words


def test_what_stands_out_is_named_and_nothing_else() -> None:
    assert flag_words(grade()) == []
    assert flag_words(grade(had_infinite_loop_risk=True, had_user_refusal=True)) == [
        "loop risk",
        "the user refused a call",
    ]


@pytest.mark.parametrize(
    ("fields", "is_told"),
    [
        pytest.param({"state": SessionState.INTERRUPTED, "p_completed": 0.6}, True, id="left-in-the-middle"),
        pytest.param({"state": SessionState.INTERRUPTED, "p_completed": None}, False, id="cut-by-an-error"),
        pytest.param({"state": SessionState.COMPLETE, "p_completed": 0.6}, False, id="answered"),
    ],
)
def test_the_probability_of_a_session_that_stopped_early_only_ranks_it(fields: dict[str, Any], is_told: bool) -> None:
    assert (likely_note(grade(**fields)) is not None) is is_told


def test_what_followed_the_last_failure() -> None:
    assert after_the_last(grade(errors_recovered=True)).startswith("a tool call worked")
    assert after_the_last(grade(errors_recovered=False, ending=EndingKind.ANSWERED)) == "no tool call worked"
    cut = grade(errors_recovered=False, ending=EndingKind.LIMIT)
    assert after_the_last(cut) == "the session ended without an answer"


@pytest.mark.parametrize(
    ("ending", "words"),
    [
        pytest.param(EndingKind.ANSWERED, "no tool call worked after the last failure", id="answered"),
        pytest.param(EndingKind.LIMIT, "the session ended without an answer after the last failure", id="cut"),
        pytest.param(None, "either", id="open"),
    ],
)
def test_a_rule_of_two_cases_says_which_applies(ending: EndingKind | None, words: str) -> None:
    told = grade(errors_recovered=False, ending=ending)
    assert reason_words(Reason("errors_recovered", "recovery.not_recovered", None), "either", told) == words
    assert reason_words(Reason("errors_recovered", "recovery.recovered", None), "either", told) == "either"


def test_the_state_of_a_session_is_no_word_for_its_task() -> None:
    assert [state_words(grade(state=state)) for state in SessionState] == ["ended normally", "interrupted", "open"]
    assert [brief_state(grade(state=state)) for state in SessionState] == ["ended", "interrupted", "open"]


def test_a_session_of_an_agent_that_deletes_its_sessions_is_gone_for_a_reason() -> None:
    assert "deletes" in gone_words(grade(format="claude-code"))
    assert "deletes" not in gone_words(grade(format="hermes"))


@pytest.mark.parametrize(
    ("skills", "words"),
    [
        pytest.param(None, "unknown", id="not-told"),
        pytest.param((), "none", id="none"),
        pytest.param(
            (
                SkillUse("deploy", SkillHow.VIEW),
                SkillUse("pdf", SkillHow.COMMAND),
                SkillUse("deploy", SkillHow.MANAGE),
            ),
            "deploy (view, manage), pdf (command)",
            id="each-once-with-its-ways",
        ),
    ],
)
def test_skills_are_told_with_how_they_were_used(skills: tuple[SkillUse, ...] | None, words: str) -> None:
    assert skill_words(grade(skills=skills)) == words


def test_a_claim_is_said_with_what_it_is_about() -> None:
    assert claim_words(Claim(ClaimKind.TESTS_PASSED, Support.VERIFIED, None, 4)) == "tests passed"
    assert claim_words(Claim(ClaimKind.FILE_WRITTEN, Support.VERIFIED, "a.py", 4)) == "file written: a.py"


@pytest.mark.parametrize("reason", ClaimReason)
def test_each_reason_of_a_claim_has_words_of_its_own(reason: ClaimReason) -> None:
    claims = [Claim(ClaimKind.SENT, Support.CONTRADICTED, None, 4, reason=each) for each in ClaimReason]
    assert [why_words(claim) for claim in claims].count(why_words(claims[list(ClaimReason).index(reason)])) == 1
    assert why_words(Claim(ClaimKind.SENT, Support.UNSUPPORTED, None, 4)) is None


@pytest.mark.parametrize(
    ("rule", "effect", "words"),
    [
        pytest.param("completion.alone", None, "because", id="decides-alone"),
        pytest.param("quality.base", 3.0, "3", id="level"),
        pytest.param("quality.verified", 1.0, "+1", id="more"),
        pytest.param("quality.short", -0.5, "-0.5", id="less"),
    ],
)
def test_what_a_rule_did(rule: str, effect: float | None, words: str) -> None:
    assert effect_words(Reason("response_quality", rule, effect)) == words


def test_a_feature_of_another_version_is_told_by_its_meaning_or_its_name() -> None:
    assert feature_words("calls", 3, "Calls.", 0.9) == "Calls."
    assert feature_words("calls", 3, None, None) == "calls"


def test_a_score_has_its_scale() -> None:
    assert of_five(4) == "4 of 5"
    assert of_five(None) is None


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        pytest.param({}, "4.5 of 5 by judge, today; 1.5 away from the grade then, 3", id="answer"),
        pytest.param({"quality": None, "error": "it timed out"}, "no answer, today: it timed out", id="none"),
    ],
)
def test_a_scorer_s_word_is_told_with_what_it_differs_from(changes: dict[str, object], words: str) -> None:
    check = QualityCheck(
        id=1,
        session_id="s",
        scorer="judge",
        checked_at=NOW,
        digest=None,
        outcome=CheckOutcome.ANSWERED,
        quality=4.5,
        ours=3,
        discrepancy=1.5,
        error=None,
    )
    assert checked_words(msgspec.structs.replace(check, **changes), when="today") == words


@pytest.mark.parametrize(
    ("changes", "ending", "standing"),
    [
        pytest.param({"ending": None, "standing": None}, None, None, id="open"),
        pytest.param(
            {"ending": EndingKind.ANSWERED, "standing": ResultStanding.CHECK_FAILED},
            "answered",
            "check failed",
            id="answered",
        ),
        pytest.param(
            {
                "ending": EndingKind.LIMIT,
                "state": SessionState.INTERRUPTED,
                "state_reason": "finish_reason=length",
                "standing": None,
            },
            "cut by limit: finish_reason=length",
            None,
            id="cut",
        ),
    ],
)
def test_how_a_session_ended_is_told_with_why(
    changes: dict[str, object], ending: str | None, standing: str | None
) -> None:
    told = grade(**changes)
    assert (ending_words(told), standing_words(told)) == (ending, standing)


def test_a_result_is_told_with_the_sentence_of_its_rule() -> None:
    admitted = Reason("standing", "standing.admitted", None, (3,))
    told = grade(standing=ResultStanding.ADMITTED, reasons=(Reason("quality", "quality.base", 3.0, ()), admitted))

    assert standing_sentence(told) == EVIDENCE_SENTENCES["standing.admitted"]
    assert standing_words(told) == "agent says not done"
    assert standing_sentence(grade(standing=None)) is None


@pytest.mark.parametrize(
    ("supports", "words"),
    [
        pytest.param((), None, id="none"),
        pytest.param(
            (Support.VERIFIED, Support.CONTRADICTED, Support.VERIFIED), "2 verified, 1 contradicted", id="some"
        ),
        pytest.param((Support.UNSUPPORTED,) * 2, "2 unsupported", id="all-unsupported"),
    ],
)
def test_what_became_of_claims_is_told_in_a_few_words(supports: tuple[Support, ...], words: str | None) -> None:
    claims = [Claim(ClaimKind.SENT, support, None, 4) for support in supports]
    assert borne_out(claims) == words


def test_a_word_from_before_the_session_went_on_is_told_as_that() -> None:
    given = feedback(1)
    assert said_words(given, "d", when="Monday") == "labelled by timmy on Monday"
    assert said_words(given, "e", when="Monday") == "labelled by timmy on Monday, before the session continued"


@pytest.mark.parametrize(("effect", "words"), [(1.0, "+23"), (-1.0, "−23"), (0.0, "+0")], ids=["up", "down", "none"])
def test_an_effect_reads_in_percentage_points(effect: float, words: str) -> None:
    assert moved_words(0.5, effect) == words


@pytest.mark.parametrize(
    ("facts", "told"),
    [
        pytest.param({"standing": ResultStanding.CHECK_FAILED}, "check failed", id="the-result"),
        pytest.param(
            {"standing": ResultStanding.CHECK_FAILED, "ending": EndingKind.NO_ANSWER},
            "check failed, no answer",
            id="the-result-and-the-ending",
        ),
        pytest.param({"ending": EndingKind.LIMIT, "standing": None}, "cut by limit", id="the-ending-alone"),
        pytest.param({"standing": None}, None, id="neither"),
        pytest.param({"ending": None, "state": SessionState.OPEN}, "open", id="still-open"),
        pytest.param({"ending": None, "state": SessionState.COMPLETE}, None, id="unknown"),
    ],
)
def test_the_record_is_the_result_with_an_ending_that_is_no_answer(facts: dict[str, object], told: str | None) -> None:
    assert record_words(grade(**{"ending": EndingKind.ANSWERED, **facts})) == told


@pytest.mark.parametrize(
    ("facts", "command"),
    [
        pytest.param({"format": "claude-code"}, "claude --resume 0a-1", id="claude-code"),
        pytest.param({"format": "opencode", "project": "/p"}, "cd /p && opencode --session 0a-1", id="in-its-folder"),
        pytest.param({"format": "codex", "project": "/p;rm x"}, "cd '/p;rm x' && codex resume 0a-1", id="odd-folder"),
        pytest.param({"format": "codex", "session_id": "a;b"}, None, id="an-id-that-is-a-command"),
        pytest.param({"format": "codex", "session_id": "-x"}, None, id="an-id-that-is-an-option"),
        pytest.param({"format": "codex", "kind": SessionKind.SUB_AGENT}, None, id="a-sub-agent"),
        pytest.param({"format": "codex", "host": "other"}, None, id="another-machine"),
        pytest.param({"format": "hermes"}, None, id="another-agent"),
        pytest.param({"format": None}, None, id="an-unknown-format"),
    ],
)
def test_the_command_is_the_agents_own(facts: dict[str, object], command: str | None) -> None:
    given = {"session_id": "0a-1", "kind": SessionKind.MAIN, "host": None, "project": None, **facts}

    assert resume_command(grade(**given)) == command


def similar(**said: Any) -> Similar:
    usual: dict[str, Any] = {"same": 6, "near": 2, "more": False}
    return Similar(
        session_id=None,
        verdicts=VerdictCounts(),
        ended_badly=proportion(2, 7),
        models=(),
        skills=(),
        sessions=(),
        **(usual | said),
    )


@pytest.mark.parametrize(
    ("said", "words"),
    [
        pytest.param({"same": 0, "near": 0}, "in no other finished session", id="nowhere"),
        pytest.param({}, "in 8 other sessions: 6 in the same words, 2 in nearly the same", id="both"),
        pytest.param(
            {"same": 1, "near": 0, "more": True},
            "in 1 other session: 1 in the same words, 0 in nearly the same; only the newest were searched",
            id="more",
        ),
    ],
)
def test_where_else_it_was_asked(said: dict[str, Any], words: str) -> None:
    assert asked_words(similar(**said)) == words


@pytest.mark.parametrize(("likeness", "words"), [(1.0, "same request"), (0.876, "88 % the same")])
def test_how_alike_two_requests_are(likeness: float, words: str) -> None:
    session = SimilarSession(
        session_id="s", ended_at=NOW, model=None, outcome=Outcome.NO_ANSWER, ended_badly=None, likeness=likeness
    )

    assert likeness_words(session) == words


@pytest.mark.parametrize(
    ("indexes", "words"),
    [
        pytest.param([6], "message 6", id="one"),
        pytest.param([2, 4], "messages 2, 4", id="several"),
        pytest.param([*range(9)], "messages 0, 1, 2, 3, 4, 5, and 3 more", id="many"),
    ],
)
def test_numbers_of_messages_say_what_they_are(indexes: list[int], words: str) -> None:
    assert messages_words(indexes) == words
