"""Claims held against the record: verified, unsupported or contradicted, with the messages that show it.

Contradicted is only what the structure of the record rules out: the last test run failed, every write of the file was
refused, nothing was called that could have done it. Whatever may have been done in a way that the record does not show
is unsupported.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from grader_daemon.analysis.claims.attempts import Attempts
from grader_daemon.analysis.claims.build_claims import BuildClaims
from grader_daemon.analysis.claims.change_claims import ChangeClaims
from grader_daemon.analysis.claims.changed_tests import ChangedTests
from grader_daemon.analysis.claims.command_claims import CommandClaims
from grader_daemon.analysis.claims.deeds import weigh_deeds
from grader_daemon.analysis.claims.evidence import CallRecord
from grader_daemon.analysis.claims.extract import find_claims
from grader_daemon.analysis.claims.file_claims import FileClaims
from grader_daemon.analysis.claims.plan_claims import ticked_claims
from grader_daemon.analysis.claims.stated_claim import StatedClaim
from grader_daemon.analysis.claims.subjects import QUOTED
from grader_daemon.analysis.claims.tested_work import TestedWork
from grader_daemon.analysis.claims.tests_claims import TestsClaims
from grader_daemon.analysis.claims.tool_claims import ToolClaims
from grader_daemon.analysis.claims.undone_changes import UndoneChanges
from grader_daemon.analysis.claims.verification import Verification
from grader_daemon.domain.claims import Claim, ClaimKind, Support
from grader_daemon.domain.text import clean
from grader_daemon.redaction import Redactor

_Key = tuple[tuple[ClaimKind, str | None], Verification, tuple[str, ...]]

LONGEST_SUBJECT = 120
LONGEST_WORDS = 160


def verify_claims(record: CallRecord, *, final_index: int | None, redactor: Redactor) -> tuple[Claim, ...]:
    """Return the claims of the final answer, in its order, each held against the record.

    Nothing is told from what is absent when earlier messages were replaced by a summary.
    """
    if final_index is None:
        return ()
    answer = record.messages[final_index].text
    stated = find_claims(answer)
    weighed: dict[_Key, StatedClaim] = {}
    is_told = any(each.kind is ClaimKind.TESTS_PASSED for each in stated)
    ticked = () if is_told else tuple(ticked_claims(record.notes, record.messages, answer))
    if stated or ticked:
        verifier = ClaimVerifier(record)
        for each in (*stated, *ticked):
            verification = verifier.verify(each)
            if verification is not None and (each.at is None or _is_against(verification, each.at)):
                weighed.setdefault(_key(each, verification), each)
    deed = weigh_deeds(record, answer)
    if deed is not None:
        of_it = {key for key, each in weighed.items() if each.said in deed.claim.said}
        if all(verification.support is not Support.CONTRADICTED for _, verification, _ in of_it):
            weighed = {key: each for key, each in weighed.items() if key not in of_it}
            weighed[_key(deed.claim, deed.verification)] = deed.claim
    return tuple(
        Claim(
            each.kind,
            verification.support,
            _shown(each.subject, redactor, LONGEST_SUBJECT),
            final_index if each.at is None else each.at,
            verification.evidence,
            verification.reason,
            _shown(each.said, redactor, LONGEST_WORDS),
        )
        for (_, verification, _), each in weighed.items()
    )


def _key(claim: StatedClaim, verification: Verification) -> _Key:
    """Return by what a claim is the same as another: its kind, what it is about or quotes, and its verification."""
    quoted = () if claim.subject else tuple(QUOTED.findall(claim.said))
    return (claim.kind, claim.subject), verification, quoted if claim.kind is ClaimKind.COMMAND_RAN else ()


def _is_against(verification: Verification, at: int) -> bool:
    """Return whether what was seen before a place contradicts what is claimed there."""
    return verification.support is Support.CONTRADICTED and all(place < at for place in verification.evidence)


def _of_work(evidence: CallRecord, undone: UndoneChanges) -> Mapping[ClaimKind, Callable[[StatedClaim], Verification]]:
    """Return how claims about work on code are verified, by their kind."""
    tests = TestedWork(evidence, undone)
    changed = ChangedTests(evidence, tests)
    of_tests, of_changes = TestsClaims(evidence, tests, changed), ChangeClaims(evidence, changed, undone)
    return {
        ClaimKind.TESTS_PASSED: of_tests.passed,
        ClaimKind.BUG_FIXED: of_tests.fixed,
        ClaimKind.CHECK_PASSED: BuildClaims(evidence, tests).passed,
        ClaimKind.TESTS_ADDED: of_changes.tests_added,
        ClaimKind.NOTHING_ELSE: of_changes.nothing_else,
    }


def _shown(text: str | None, redactor: Redactor, longest: int) -> str | None:
    """Return a text of a claim as it may be kept: one line without secrets."""
    if not text:
        return None
    return clean(" ".join(redactor.redact(text).split()))[:longest] or None


class ClaimVerifier:
    """Holds the claims of one session against its calls."""

    def __init__(self, evidence: CallRecord) -> None:
        self._evidence = evidence
        self._attempts = Attempts(evidence)
        undone = UndoneChanges(evidence)
        self._files = FileClaims(evidence, self._attempts, undone)
        self._commands = CommandClaims(evidence, self._attempts)
        self._tools = ToolClaims(evidence, self._attempts)
        self._of_work = _of_work(evidence, undone)

    def verify(self, claim: StatedClaim) -> Verification | None:
        """Return what the record says of a claim, with its evidence; None for an action that no call is about."""
        of_work = self._of_work.get(claim.kind)
        if of_work is not None:
            return of_work(claim)
        match claim.kind:
            case ClaimKind.FILE_WRITTEN:
                return self._tools.placed(claim, self._files.written(claim))
            case ClaimKind.COMMITTED | ClaimKind.DEPLOYED | ClaimKind.INSTALLED:
                return self._commands.by_program(claim)
            case ClaimKind.SENT:
                return self._tools.sent(claim)
            case _ if claim.runs_well and not claim.command:
                return self._commands.ran_last(claim.words[0])
            case _:
                if claim.command:
                    return self._commands.ran(claim.command, well=claim.runs_well)
                return self._tools.acted(claim)
