"""Claims that something was sent, or another action done, held against the calls of tools that are made for it."""

from __future__ import annotations

from functools import cached_property
from typing import Final

from grader_daemon.analysis.claims.attempts import Attempts
from grader_daemon.analysis.claims.call_answers import answered
from grader_daemon.analysis.claims.evidence import CallRecord, ToolRun
from grader_daemon.analysis.claims.named_objects import NamedObjects
from grader_daemon.analysis.claims.shell_deeds import ShellDeeds
from grader_daemon.analysis.claims.stated_claim import SENDING, StatedClaim
from grader_daemon.analysis.claims.subjects import address_in, basename
from grader_daemon.analysis.claims.verification import (
    NEVER_CALLED,
    UNSUPPORTED,
    Verification,
    contradicted,
    places,
    unsupported,
    verified,
)
from grader_daemon.domain.claims import ClaimReason, Support
from grader_daemon.domain.late_pattern import late_pattern
from grader_daemon.domain.phrases import holds_any

_THINGS: Final = frozenset(
    """
    label filter event task contact deal note ticket comment invoice folder channel page rule reminder calendar order
    lead issue file document user account
    """.split()
)
"""Things that tools of services make or change, as they stand in the names of the tools."""

_OF_MAIL: Final = ("mail", "inbox", "sms", "text message")
_SENDS = late_pattern(r"sendmail|swaks|mail |mutt |msmtp|smtplib|smtps?:")
_CLIENT = late_pattern(r"\b(?:curl|https?|wget) ")
_POSTS = late_pattern(
    r"\s(?:-d|-F|-T|-XPOST|-XPUT|POST|PUT|--data\S{0,12}|--json|--form|--upload-file|--post-\w{4}|--mail-\w{1,8})(?!\w)"
)


class ToolClaims:
    """Holds claims of what tools did against the calls of one session."""

    def __init__(self, evidence: CallRecord, attempts: Attempts) -> None:
        self._evidence = evidence
        self._attempts = attempts
        self._shell = ShellDeeds(evidence, attempts)
        self._objects = NamedObjects(evidence)

    def sent(self, claim: StatedClaim) -> Verification | None:
        """Verify that something was sent; None where no call can have sent it, and it may be news of others."""
        sending = [each for each in self._evidence.runs if not SENDING.isdisjoint(each.words) or _sends(each.command)]
        if sending:
            return self._sent_to(claim, sending)
        if not claim.by_agent:
            is_mail = self._evidence.runs and holds_any(claim.said.lower(), _OF_MAIL)
            return unsupported(ClaimReason.NOT_SEEN) if is_mail else None
        return UNSUPPORTED if self._evidence.could_act else NEVER_CALLED

    def _sent_to(self, claim: StatedClaim, sending: list[ToolRun]) -> Verification:
        """Verify that something was sent, and to whom where the claim names an address."""
        receiver = claim.subject
        if receiver is None or "@" not in receiver:
            return self._done(claim, sending)
        to_them = [each for each in sending if receiver.lower() in each.arguments.lower()]
        if to_them or not any(each.worked for each in sending):
            return self._done(claim, to_them or sending)
        if not self._evidence.is_whole or self._evidence.has_shell:
            return UNSUPPORTED
        is_to_others = all(address_in(each.arguments) for each in sending)
        return contradicted(ClaimReason.OTHER_TARGET, *places(sending)) if is_to_others else UNSUPPORTED

    def acted(self, claim: StatedClaim) -> Verification | None:
        """Verify an action of a tool that is made for it, or of a program where the session has a shell."""
        if self._evidence.has_shell and self._evidence.could_act:
            return self._by_command(claim)
        acted = [each for each in self._evidence.runs if not each.changes_nothing and claim.is_done_by(each.words)]
        if not acted:
            is_made_up = claim.by_agent and claim.is_action and self._evidence.runs and not self._evidence.could_act
            return NEVER_CALLED if is_made_up else None
        acted = [each for each in acted if not self._is_of_other_thing(each, claim)]
        if not acted:
            return UNSUPPORTED
        if claim.subject:
            acted = [each for each in acted if basename(claim.subject) in each.arguments]
        found = self._done(claim, acted)
        is_open = found.support is Support.CONTRADICTED and self._evidence.person_spoke_after(acted[-1])
        return UNSUPPORTED if is_open else found

    def _is_of_other_thing(self, run: ToolRun, claim: StatedClaim) -> bool:
        """Return whether the name of a tool has another thing than the claim: a label, where it names a filter."""
        said = claim.said.lower()
        told = {thing for thing in self._things if thing in said}
        own = self._things & {word.removesuffix("s") for word in run.words}
        return bool(told) and bool(own) and told.isdisjoint(own)

    @cached_property
    def _things(self) -> frozenset[str]:
        """Things that tools of the session have in their names."""
        return _THINGS & {word.removesuffix("s") for run in self._evidence.runs for word in run.words}

    def placed(self, claim: StatedClaim, verification: Verification) -> Verification:
        """Verify that a file was put by tools where a claim says, not under its name in another folder."""
        path, at = claim.subject or "", verification.evidence
        did = [each for each in self._evidence.runs if each.index in at and not each.command]
        if verification.support is not Support.VERIFIED or not path.startswith("/") or len(did) < len(at):
            return verification
        is_known = self._evidence.mentions(path)
        is_elsewhere = all(f'/{basename(path)}"' in each.arguments and not is_known for each in did)
        return unsupported(ClaimReason.OTHER_TARGET, *at) if is_elsewhere else verification

    def _by_command(self, claim: StatedClaim) -> Verification | None:
        """Verify an action of a program: on the host that the claim names, where its command names one like it."""
        verification = self._shell.done(claim)
        if verification is None or verification.support is not Support.VERIFIED:
            return verification
        did = [each for each in self._evidence.runs if each.index in verification.evidence]
        is_other = self._objects.has_other_name(claim.said, did)
        return unsupported(ClaimReason.OTHER_TARGET, *verification.evidence) if is_other else verification

    def _done(self, claim: StatedClaim, calls: list[ToolRun]) -> Verification:
        """Verify calls for a deed: one worked, none of those says that it did not, and its object is theirs."""
        verification = self._attempts.verify(calls)
        if verification.support is not Support.VERIFIED:
            return verification
        worked = [each for each in calls if each.worked]
        did = [each for each in worked if not _says_not(each)]
        if not did:
            return unsupported(ClaimReason.DENIED, *places(worked))
        if all(map(_only_tries, did)):
            return unsupported(ClaimReason.NOT_PERSISTED, *places(did))
        missing = self._objects.missing(claim, did)
        return verified(*places(did)) if missing is None else unsupported(missing, *places(did))


def _says_not(run: ToolRun) -> bool:
    """Return whether the result of a tool's call says that nothing of it was done."""
    signs = answered(run)
    return not run.command and signs.is_denied and not signs.is_done


def _only_tries(run: ToolRun) -> bool:
    """Return whether a tool was told not to do it in earnest: a dry run, a validation, a draft."""
    return not run.command and answered(run).is_drafted


def _sends(command: str) -> bool:
    """Return whether a command sends anything. Fetching a page sends nothing."""
    return bool(_SENDS.search(command) or (_CLIENT.search(command) and _POSTS.search(command)))
