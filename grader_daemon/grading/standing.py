"""Standing of the result of a finished session, and the reasons of its ending and standing, each with its messages."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from grader_daemon.domain.analysis import Analysis
from grader_daemon.domain.claims import Support
from grader_daemon.domain.evidence import Check, CheckKind, CheckResult, EndingKind, ResultStanding
from grader_daemon.domain.grade import Reason

_ENDINGS: Final = {
    EndingKind.ANSWERED: "the agent answered",
    EndingKind.ASKED: "its last message asks the person, who did not answer",
    EndingKind.HANDED_OVER: "the person was handed over to a human",
    EndingKind.GAVE_UP: "the answer says that the task could not be done",
    EndingKind.LIMIT: "a limit cut it short: of output, turns or money",
    EndingKind.ERROR: "an error cut it short",
    EndingKind.PERSON: "a person stopped it",
    EndingKind.PROCESS: "its process ended",
    EndingKind.LEFT: "it stops in the middle, and nothing says why",
    EndingKind.NO_ANSWER: "it ended without an answer",
}
_STANDINGS: Final = {
    ResultStanding.CONTRADICTED: "the record shows that something which the answer says was done was not",
    ResultStanding.CHECK_FAILED: "the last check failed, and nothing was changed after it",
    ResultStanding.ADMITTED: "the answer says that it is not done, or only in part",
    ResultStanding.CLAIMED: "the answer says that it is done, and nothing shows it",
    ResultStanding.NO_CLAIM: "no claim that it is done is recognised in the answer",
}
_CHECKS: Final = {
    CheckKind.TESTS: "tests passed after the last change",
    CheckKind.BUILD: "a build, a type check or a linter passed after the last change",
    CheckKind.RUN: "a program that was written ran to its end after the last change",
    CheckKind.READ_BACK: "what was written last was read again",
    CheckKind.CONFIRMED: "a service answered that the last change was made",
}
SENTENCES: Final = {
    **{f"ending.{kind}": text for kind, text in _ENDINGS.items()},
    **{f"standing.{standing}": text for standing, text in _STANDINGS.items()},
    **{f"standing.checked.{kind}": text for kind, text in _CHECKS.items()},
}
"""Meaning of each rule of the ending and the standing."""

_SAYS_DONE: Final = "completion.phrase"


def evidence_of(
    analysis: Analysis, said: Sequence[Reason], *, messages: int
) -> tuple[EndingKind | None, ResultStanding | None, tuple[Reason, ...]]:
    """Return ending and standing of a session with the reasons for both; None and none while it is open.

    `said` are the reasons that its final answer gave for or against completion, `messages` how many it has.
    """
    ending = analysis.ending
    if ending is None:
        return None, None, ()
    standing, reason = _standing(analysis, said)
    last = () if messages == 0 else (messages - 1,)
    return ending, standing, (Reason("ending", f"ending.{ending}", None, last), reason)


def _standing(analysis: Analysis, said: Sequence[Reason]) -> tuple[ResultStanding, Reason]:
    answer, check = analysis.answer_indexes, analysis.check
    against = [claim for claim in analysis.claims if claim.support is Support.CONTRADICTED]
    if against:
        shown = {index for claim in against for index in (claim.index, *claim.evidence)}
        return _plain(ResultStanding.CONTRADICTED, tuple(sorted(shown)))
    if check is not None and check.result is not CheckResult.PASSED:
        return _plain(ResultStanding.CHECK_FAILED, _messages_of(check))
    if analysis.admitted or analysis.ending is EndingKind.GAVE_UP:
        return _plain(ResultStanding.ADMITTED, answer)
    if check is not None:
        standing = ResultStanding.CHECKED
        return standing, Reason("standing", f"standing.{standing}.{check.kind}", None, _messages_of(check))
    if analysis.claims or any(reason.rule == _SAYS_DONE for reason in said):
        return _plain(ResultStanding.CLAIMED, answer)
    return _plain(ResultStanding.NO_CLAIM, answer)


def _messages_of(check: Check) -> tuple[int, ...]:
    return tuple(dict.fromkeys(index for index in (check.change, check.index) if index is not None))


def _plain(standing: ResultStanding, messages: tuple[int, ...]) -> tuple[ResultStanding, Reason]:
    return standing, Reason("standing", f"standing.{standing}", None, messages)
