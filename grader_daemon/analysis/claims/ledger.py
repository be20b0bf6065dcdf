"""The ledger of a session: each claim of its final answer, with what the record of tool calls says of it."""

from __future__ import annotations

from collections.abc import Sequence

from grader_daemon.analysis.claims.evidence import Evidence, Note
from grader_daemon.analysis.claims.extract import find_claims
from grader_daemon.analysis.claims.verify import ClaimVerifier
from grader_daemon.domain.claims import Claim
from grader_daemon.domain.session import Session
from grader_daemon.domain.text import clean
from grader_daemon.redaction import Redactor

LONGEST_SUBJECT = 120


def verify_claims(
    session: Session, notes: Sequence[Note], *, final_index: int | None, redactor: Redactor
) -> tuple[Claim, ...]:
    """Return the claims of the final answer, in its order, each held against the calls in `notes`.

    Nothing is told from what is absent when earlier messages were replaced by a summary.
    """
    stated = find_claims(session.messages[final_index].text) if final_index is not None else ()
    if not stated or final_index is None:
        return ()
    verifier = ClaimVerifier(Evidence(notes, session.messages, is_whole=not session.compacted))
    verified = [(each, verifier.verify(each)) for each in stated]
    claims = [
        Claim(each.kind, verification[0], _shown(each.subject, redactor), final_index, verification[1])
        for each, verification in verified
        if verification is not None
    ]
    return tuple(dict.fromkeys(claims))


def _shown(subject: str | None, redactor: Redactor) -> str | None:
    """Return what a claim is about as it may be kept: one line without secrets."""
    if not subject:
        return None
    return clean(redactor.redact(subject))[:LONGEST_SUBJECT] or None
