"""Words for the grade of one session, and on its request elsewhere, the same in the terminal and on a page."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from shlex import quote
from typing import Final

from grader_daemon.domain.analysis import FailureKind, SessionState
from grader_daemon.domain.claims import Claim, ClaimReason
from grader_daemon.domain.completion_model import log_odds, probability
from grader_daemon.domain.feedback import Feedback
from grader_daemon.domain.grade import Grade, Reason
from grader_daemon.domain.quality import QualityCheck
from grader_daemon.domain.session import SessionKind
from grader_daemon.domain.session_result import EVIDENCE_SENTENCES, STANDING_WORDS, EndingKind
from grader_daemon.domain.similar import Similar, SimilarSession
from grader_daemon.domain.text import clean, count
from grader_daemon.reports.numbers import MINUS
from grader_daemon.reports.sign_words import sign_sentence

GOT_OVER: Final = {FailureKind.RECOVERED: "yes", FailureKind.HARMFUL: "no", FailureKind.PROBE: "a probe"}
"""Words for a failure that a session recovered from or not; a probe is none."""

KIND_WORDS: Final = {
    FailureKind.RECOVERED: "worked later",
    FailureKind.HARMFUL: "never worked later",
    FailureKind.PROBE: "a probe, no error",
}
"""The same where nothing around them asks."""

_TOLD_SUPPORTS: Final = (
    *(("verified", "verified"), ("contradicted", "contradicted")),
    *(("stale", "stale"), ("partial", "partial")),
)
_WHY: Final = {
    ClaimReason.NO_CALL: "no call could have done it",
    ClaimReason.FAILED: "every call for it failed",
    ClaimReason.DENIED: "the result says that it was not done",
    ClaimReason.OTHER_TARGET: "it was done to another target",
    ClaimReason.OTHER_VALUE: "it was done with another value",
    ClaimReason.NOT_NAMED: "no such call names this target",
    ClaimReason.FEWER_DONE: "only part of it was done",
    ClaimReason.NOT_PERSISTED: "it was only drafted or previewed",
    ClaimReason.STALE: "something was changed after the check",
    ClaimReason.TESTS_FAILED: "the last run failed",
    ClaimReason.TESTS_REMOVED: "tests were removed before the run",
    ClaimReason.TESTS_SKIPPED: "tests were skipped",
    ClaimReason.EXPECTED_REWRITTEN: "expected values were changed to match the result",
    ClaimReason.EMPTY_RUN: "the run had nothing to check",
    ClaimReason.MASKED: "the command hides whether it failed",
    ClaimReason.WEAKER_RUN: "the run covers less than the claim",
    ClaimReason.READ_BACK: "it was read back afterwards",
    ClaimReason.NOT_SEEN: "no call shows it",
    ClaimReason.BROKE_OFF: "the run did not start, or stopped early",
    ClaimReason.CHECK_FAILED: "the last check failed",
    ClaimReason.EDIT_FAILED: "an edit failed and was not repeated",
    ClaimReason.TAKEN_BACK: "it was reverted afterwards",
    ClaimReason.OTHERS_CHANGED: "another file was changed too",
}
"""Why a claim has its support, in words."""

NOT_ALLOWED: Final = "the call was not allowed"
MOST_MESSAGES: Final = 6
"""Most numbers of messages behind one sentence."""
_LEVELS: Final = frozenset(("quality.base", "efficiency.level", "efficiency.otherwise"))
"""Rules that give a score its level; the others move it."""
_RESUME_COMMANDS: Final = {
    "claude-code": "claude --resume {}",
    "codex": "codex resume {}",
    "opencode": "opencode --session {}",
}
"""By the format of the session."""
_PLAIN_ID: Final = re.compile(r"[A-Za-z0-9][\w-]{0,99}", re.ASCII)
"""An id that a shell takes as it is, and no option."""


def agent_words(grade: Grade) -> str | None:
    """Return whose session it is, and who had it begun if that was no person: "codex", "hermes cron"."""
    kind = None if grade.kind in (None, SessionKind.MAIN) else grade.kind.value.replace("_", "-")
    return " ".join(filter(None, (grade.agent, kind))) or None


def of_five(score: int | None) -> str | None:
    """Return a score as it is said; None where there is none."""
    return None if score is None else f"{score} of 5"


def brief_state(grade: Grade) -> str:
    """Return whether a session ended, where there is little room: "ended", "interrupted", "open"."""
    return "ended" if grade.state is SessionState.COMPLETE else grade.state.value


def state_words(grade: Grade) -> str:
    """Return whether a session ended: "ended normally", "interrupted", "open"."""
    return "ended normally" if grade.state is SessionState.COMPLETE else grade.state.value


def ending_words(grade: Grade) -> str | None:
    """Return how a session ended, with why: "answered", "cut by limit: finish_reason=length"; None while it is open."""
    if grade.ending is None:
        return None
    kind = grade.ending.replace("_", " ")
    return kind if grade.state is SessionState.COMPLETE else f"{kind}: {clean(grade.state_reason)}"


def likely_note(grade: Grade) -> str | None:
    """Return how to read the probability of a session that a person stopped, or that was left; None for all others."""
    if grade.p_completed is None or grade.state is not SessionState.INTERRUPTED:
        return None
    return "The session stopped early: its probability decides no verdict, and only ranks it."


def standing_words(grade: Grade) -> str | None:
    """Return what shows the result of a session, as it is said in a table: "agent says done"; None while it is open."""
    return None if grade.standing is None else STANDING_WORDS[grade.standing]


def standing_sentence(grade: Grade) -> str | None:
    """Return what shows the result of a session, as a sentence where its rule is known; None while it is open."""
    said = [EVIDENCE_SENTENCES[reason.rule] for reason in grade.reasons if reason.score == "standing"]
    return next(iter(said), standing_words(grade))


def record_words(grade: Grade) -> str | None:
    """Return how a result stands, and the ending if it is no answer: "check failed, cut by limit"; None if unknown."""
    if grade.ending is None:
        return None if grade.state is SessionState.COMPLETE else grade.state.value
    ending = None if grade.ending is EndingKind.ANSWERED else grade.ending.replace("_", " ")
    return ", ".join(filter(None, (standing_words(grade), ending))) or None


def reason_words(reason: Reason, sentence: str, grade: Grade) -> str:
    """Return what a rule says of a session; of a sentence with two cases, the one that applies, if the end is known."""
    if reason.rule != "recovery.not_recovered" or grade.ending is None:
        return sentence
    return f"{after_the_last(grade)} after the last failure"


def after_the_last(grade: Grade) -> str:
    """Return what `errors_recovered` says; whether the session got over a failure is said beside each."""
    if grade.errors_recovered:
        return "a tool call worked, and the session ended in an answer"
    answers = (EndingKind.ANSWERED, EndingKind.ASKED, EndingKind.HANDED_OVER, EndingKind.GAVE_UP)
    return "no tool call worked" if grade.ending in answers else "the session ended without an answer"


def messages_words(indexes: Sequence[int], most: int = MOST_MESSAGES) -> str:
    """Return the numbers of messages, the first few: "message 6", "messages 2, 4, 6, and 3 more"."""
    shown, more = ", ".join(map(str, indexes[:most])), len(indexes) - most
    return f"{'message' if len(indexes) == 1 else 'messages'} {shown}{f', and {more:,} more' if more > 0 else ''}"


def flag_words(grade: Grade) -> list[str]:
    """Return what stands out in a session."""
    flags = {
        "repeated errors": grade.had_repeated_errors,
        "loop risk": grade.had_infinite_loop_risk,
        "asked the user": grade.had_user_clarification,
        "the user refused a call": grade.had_user_refusal,
        "a call was interrupted": grade.had_user_interruption,
    }
    return [name for name, is_set in flags.items() if is_set]


def skill_words(grade: Grade) -> str:
    """Return which skills a session used, each with how: "deploy (view, manage), pdf (command)"."""
    if grade.skills is None:
        return "unknown"
    ways: dict[str, list[str]] = {}
    for name, how in grade.skills:
        ways.setdefault(name, []).append(how)
    return ", ".join(f"{clean(name)} ({', '.join(how)})" for name, how in ways.items()) or "none"


def gone_words(grade: Grade) -> str:
    """Return that a session does not lie any more where it was graded, and why that may be."""
    why = " Claude Code deletes its sessions after some days, by default 30." if grade.format == "claude-code" else ""
    return f"The session's file is gone; its grade stays.{why}"


def said_words(given: Feedback, digest: str | None, *, when: str) -> str:
    """Return whose label something is and since when; `digest` is of the session's file as it is now."""
    went_on = "" if given.digest == digest else ", before the session continued"
    return f"labelled by {clean(given.given_by)} on {when}{went_on}"


def checked_words(check: QualityCheck, *, when: str) -> str:
    """Return what a scorer said, and of what it differs: the grade may have been made again since."""
    if check.quality is None:
        return f"no answer, {when}: {check.error}"
    return (
        f"{check.quality:g} of 5 by {check.scorer}, {when};"
        f" {check.discrepancy:g} away from the grade then, {check.ours}"
    )


def claim_words(claim: Claim) -> str:
    """Return what is claimed: "tests passed", "file written: a.py"."""
    kind = claim.kind.value.replace("_", " ")
    return f"{kind}: {claim.subject}" if claim.subject else kind


def why_words(claim: Claim) -> str | None:
    """Return why a claim has its support; None where nothing more is known."""
    return None if claim.reason is None else _WHY[claim.reason]


def borne_out(claims: Sequence[Claim]) -> str | None:
    """Return in a few words what became of claims: "2 ok, 1 contradicted"; how many are unsupported only if all are."""
    counts = Counter(claim.support.value for claim in claims)
    told = [f"{counts[verdict]} {word}" for verdict, word in _TOLD_SUPPORTS if counts[verdict]]
    return ", ".join(told) or (f"{len(claims)} unsupported" if claims else None)


def effect_words(reason: Reason) -> str:
    """Return what a rule did to its score: "because" where it does alone, "3" for a level, "+1" for a change."""
    if reason.effect is None:
        return "because"
    return f"{reason.effect:g}" if reason.rule in _LEVELS else f"{reason.effect:+g}"


def moved_words(likely: float, effect: float) -> str:
    """Return by how many percentage points an effect, in log-odds, moves a probability: "+12"."""
    points = 100 * (likely - probability(log_odds(likely) - effect))
    return f"{points:+.0f}".replace("-", MINUS)


def feature_words(name: str, value: float, meaning: str | None, above: float | None) -> str:
    """Return what is so in a session, by the value of a feature and its place among the user's, `above`."""
    return sign_sentence(name, value, above) or meaning or name


def resume_command(grade: Grade) -> str | None:
    """Return the command that resumes a person's session on this machine, in its folder; None where none is known."""
    command = _RESUME_COMMANDS.get(grade.format or "")
    is_here = grade.host is None and grade.kind in (None, SessionKind.MAIN)
    if command is None or not is_here or _PLAIN_ID.fullmatch(grade.session_id) is None:
        return None
    folder = f"cd {quote(grade.project)} && " if grade.project and grade.project.isprintable() else ""
    return folder + command.format(grade.session_id)


def asked_words(found: Similar) -> str:
    """Return in how many other sessions the same was asked for."""
    others = found.same + found.near
    if not others:
        return "in no other finished session"
    said = f"in {count(others, 'other session')}: {found.same:,} in the same words, {found.near:,} in nearly the same"
    return f"{said}; only the newest were searched" if found.more else said


def likeness_words(session: SimilarSession) -> str:
    """Return how alike a request is: "same request", "91 % the same"."""
    return "same request" if session.likeness == 1 else f"{100 * session.likeness:.0f} % the same"
