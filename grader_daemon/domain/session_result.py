"""Evidence on a finished session: how it ended, and how its result stands. Facts of the record, no judgement."""

from __future__ import annotations

from enum import StrEnum
from typing import Final

import msgspec


class EndingKind(StrEnum):
    """End of a finished session.

    `answered`: the agent answered, submitted its work, or a person's thanks came last. `asked`: the last message is a
    question to the person, and the agent changed nothing since the person's last message. `handed_over`: the agent
    passed the person on to a human. `gave_up`: the answer says that the task could not be done. `cut_by_limit`: a limit
    of output, turns or money ended it. `cut_by_error`, `cut_by_person`, `cut_by_process`: an error, a person, or the
    end of its process ended it. `left`: it stops in the middle for an unknown reason. `no_answer`: it ended normally,
    without an answer.
    """

    ANSWERED = "answered"
    ASKED = "asked"
    HANDED_OVER = "handed_over"
    GAVE_UP = "gave_up"
    LIMIT = "cut_by_limit"
    ERROR = "cut_by_error"
    PERSON = "cut_by_person"
    PROCESS = "cut_by_process"
    LEFT = "left"
    NO_ANSWER = "no_answer"


class ResultStanding(StrEnum):
    """Rating of a finished session by its record. If several apply, the first one here counts.

    `contradicted`: the answer claims something as done, and the record shows the opposite. `check_failed`: the last
    check failed, and nothing was changed after it. `admitted`: the answer says that the task is not done, or only in
    part. `checked`: a check passed after the last change that worked. `claimed`: the answer says that it is done, but
    nothing shows it. `no_claim`: the answer has no recognised claim.
    """

    CONTRADICTED = "contradicted"
    CHECK_FAILED = "check_failed"
    ADMITTED = "admitted"
    CHECKED = "checked"
    CLAIMED = "claimed"
    NO_CLAIM = "no_claim"


CUT_SHORT: Final = frozenset({EndingKind.LIMIT, EndingKind.ERROR, EndingKind.PROCESS})
"""Endings of sessions that were cut short, and not by a person."""

BAD_ENDINGS: Final = CUT_SHORT | {EndingKind.GAVE_UP, EndingKind.LEFT, EndingKind.NO_ANSWER}
BAD_STANDINGS: Final = frozenset({ResultStanding.CONTRADICTED, ResultStanding.CHECK_FAILED, ResultStanding.ADMITTED})
"""Standings that are bad whatever the ending, as `BAD_ENDINGS` are whatever the standing; see `ended_badly`."""


def ended_badly(ending: EndingKind | None, standing: ResultStanding | None) -> bool | None:
    """Return whether a session ended badly by its record, whatever anybody finds likely; None where it is not known.

    It was cut short, stops in the middle, gave up or ends without an answer; its last check failed, the record
    contradicts its answer, or that says itself that the task is not done. A session that a person stopped did not.
    """
    if ending is None or standing is None:
        return None
    return ending in BAD_ENDINGS or standing in BAD_STANDINGS


class CheckKind(StrEnum):
    """Kind of a check of the work, the one that says most first."""

    TESTS = "tests"
    BUILD = "build"
    RUN = "run"
    READ_BACK = "read_back"
    CONFIRMED = "confirmed"


class CheckResult(StrEnum):
    """Result of a check. Of tests that failed beside others that passed, some may have failed before, too."""

    PASSED = "passed"
    SOME_FAILED = "some_failed"
    ALL_FAILED = "all_failed"


class Check(msgspec.Struct, frozen=True, gc=False):
    """A check that came to its end after the last change that worked.

    `index` is the message of its result, `change` that of the change's, None where the session changed nothing; both
    are positions in `Session.messages`.
    """

    kind: CheckKind
    result: CheckResult
    index: int
    change: int | None = None


_ENDINGS: Final = {
    EndingKind.ANSWERED: "the agent answered",
    EndingKind.ASKED: "the last message asks the person a question without an answer",
    EndingKind.HANDED_OVER: "the agent handed the person over to a human colleague",
    EndingKind.GAVE_UP: "the answer says that the task could not be done",
    EndingKind.LIMIT: "a limit on output, turns or money cut the session short",
    EndingKind.ERROR: "an error cut the session short",
    EndingKind.PERSON: "a person stopped the session",
    EndingKind.PROCESS: "the agent's process ended",
    EndingKind.LEFT: "the session stops in the middle for no recorded reason",
    EndingKind.NO_ANSWER: "the session ended without an answer",
}
_STANDINGS: Final = {
    ResultStanding.CONTRADICTED: "the answer claims something that the record contradicts",
    ResultStanding.CHECK_FAILED: "the last check failed, and nothing changed after it",
    ResultStanding.ADMITTED: "the answer says that the task is not done, or only partly",
    ResultStanding.CLAIMED: "the answer says that the task is done, without evidence",
    ResultStanding.NO_CLAIM: "the answer does not say that the task is done",
}
_CHECKS: Final = {
    CheckKind.TESTS: "tests passed after the last change",
    CheckKind.BUILD: "a build, a type check or a linter passed after the last change",
    CheckKind.RUN: "a program written in the session ran to its end after the last change",
    CheckKind.READ_BACK: "the agent read the file it wrote last",
    CheckKind.CONFIRMED: "a service confirmed the last change",
}
EVIDENCE_SENTENCES: Final = {
    **{f"ending.{kind}": text for kind, text in _ENDINGS.items()},
    **{f"standing.{standing}": text for standing, text in _STANDINGS.items()},
    **{f"standing.checked.{kind}": text for kind, text in _CHECKS.items()},
}
"""Meaning of each rule of ending and standing, by the id of the rule."""

STANDING_WORDS: Final = {
    ResultStanding.CONTRADICTED: "claim contradicted",
    ResultStanding.CHECK_FAILED: "check failed",
    ResultStanding.ADMITTED: "agent says not done",
    ResultStanding.CHECKED: "check passed",
    ResultStanding.CLAIMED: "agent says done",
    ResultStanding.NO_CLAIM: "agent does not say",
}
"""What shows a result, where there is little room."""
