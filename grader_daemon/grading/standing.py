"""Standing of the result of a finished session, and the reasons of its ending and standing, each with its messages."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from grader_daemon.domain.analysis import Analysis
from grader_daemon.domain.claims import Support
from grader_daemon.domain.grade import Reason
from grader_daemon.domain.session_result import Check, CheckResult, EndingKind, ResultStanding

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
