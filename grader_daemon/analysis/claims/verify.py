"""Claims held against the record: verified, unsupported or contradicted, with the messages that show it.

Contradicted is only what the structure of the record rules out: the last test run failed, every write of the file was
refused, nothing was called that could have done it. Whatever may have been done in a way that the record does not show
is unsupported.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import islice
from typing import Final

from grader_daemon.analysis.claims.evidence import ClaimEvidence, Note, ToolRun, may_have_written, only_looks, same_file
from grader_daemon.analysis.claims.extract import find_claims
from grader_daemon.analysis.claims.stated_claim import StatedClaim
from grader_daemon.analysis.claims.subjects import address_in, basename, mentions_of
from grader_daemon.analysis.claims.test_runs import TestsResult
from grader_daemon.analysis.claims.tested_work import TestedWork, is_of_another
from grader_daemon.analysis.tool_calls import Purpose
from grader_daemon.domain.claims import Claim, ClaimKind, Support
from grader_daemon.domain.session import Session
from grader_daemon.domain.text import clean
from grader_daemon.redaction import Redactor

LONGEST_SUBJECT = 120

Verification = tuple[Support, tuple[int, ...]]

_MOST_EVIDENCE = 3
_UNSUPPORTED: Verification = (Support.UNSUPPORTED, ())
_CONTRADICTED: Verification = (Support.CONTRADICTED, ())
_MAY_RUN: Final = (Purpose.RUN, Purpose.CHANGE, Purpose.UNKNOWN)
_ABSENT_AFTER = re.compile(r"[\\\"'`’]{0,3}:? (?:No such file or directory|does not exist|not found)", re.IGNORECASE)
_ABSENT_BEFORE = re.compile(
    r"(?:No such file or directory|not found|does not exist): ?[\\\"'`’]{0,3}[^\s\"'`’]*$", re.IGNORECASE
)
_ABSENT_CHARACTERS = 600
_SENDING: Final = frozenset(
    {"send", "mail", "email", "message", "notify", "reply", "post", "forward", "slack", "sms", "telegram"}
)
_SENDS = re.compile(r"sendmail|mail |mutt |msmtp|smtplib|smtps?:")
_CLIENT = re.compile(r"\b(?:curl|https?|wget) ")
_POSTS = re.compile(
    r"\s(?:-d|-F|-T|-XPOST|-XPUT|POST|PUT|--data\S{0,12}|--json|--form|--upload-file|--post-\w{4}|--mail-\w{1,8})(?!\w)"
)
_HOSTS: Final = frozenset({"github", "gitlab", "gitea", "bitbucket", "repo", "repository"})
_DRY_RUN = "--dry-run"
_SPOKEN = re.compile(r"\b(?:echo|printf) (?:-\w{1,3} )?(?:'[^'\n]{0,400}'|\"[^\"\n]{0,400}\")")
_INSTALL = re.compile(
    r"\b(?:pip3?|uv|apt|apt-get|npm|pnpm|yarn|bun|brew|dnf|yum|apk|conda|mamba|gem|cargo|go|poetry|snap|composer)"
    r"(?: [-\w=./]{1,60}){0,4} (?:install|add|i|get)\b|\bpacman -S|\bmake install\b|setup\.py (?:install|develop)"
)
_DEPLOY = re.compile(
    r"\b(?:kubectl (?:apply|rollout|set)|helm (?:install|upgrade)|docker(?:-| )compose up|terraform apply|tofu apply"
    r"|docker (?:run|push|stack deploy)|vercel|netlify|heroku|wrangler|npm publish|twine upload|cargo publish"
    r"|systemctl (?:re)?start|pm2 (?:re)?start|git push|rsync|scp)\b|deploy"
)
_PROGRAMS: Final = {
    ClaimKind.COMMITTED: (re.compile(r"\bgit\b"), frozenset({"commit", "push"})),
    ClaimKind.INSTALLED: (_INSTALL, frozenset({"install"})),
    ClaimKind.DEPLOYED: (_DEPLOY, frozenset({"deploy", "publish", "release"})),
}
_NOTHING_DONE = re.compile(
    r"nothing to commit|no changes added to commit|\[(?:remote )?rejected\]|(?:^|\")(?:fatal|error|ERROR|E): "
    r"|npm (?:ERR!|error)|command not found",
    re.MULTILINE,
)
_SOMETHING_DONE = re.compile(
    r"(?:^|\")\[[^\]\n]{1,80} [0-9a-f]{1,40}\] |\bSuccessfully installed "
    r"|^ {1,3}[+ ]?[0-9a-f]{6,40}\.{2,3}[0-9a-f]{6,40} ",
    re.MULTILINE,
)
_GIT = re.compile(r"\bgit(?: -\S{1,40}(?: [^\s-]\S{0,80})?){0,4} ([a-z-]{1,20})\b")
_PART = re.compile(r"&&|\|\||[;|\n]")
_PART_CHARACTERS = 240
_MOST_MENTIONS = 20
_SHORTEST_STEM = 4
_WRITES_NEXT = re.compile(
    r">\s*[\"']?[^\s\"'<>]*$|^\s*(?:sudo )?(?:cp|mv|ln|touch|tee|wget|patch|dos2unix|install|zip|unzip|tar|gcc|g\+\+|ld"
    r"|dd|chmod|sed -i\S*|sed (?:-\w )?-i|perl -\w{0,3}i\S*|git apply|git checkout|git mv|curl|ffmpeg|convert|magick)\b"
    r"|\s(?:-o|--output|--out)[= ]?[\"']?\S*$|\b(?:to_\w{1,12}|save\w{0,12}|write\w{0,12}|imwrite|dump)\([^()]*$"
)
_OPENS_NEXT = re.compile(r"\b(?:open|Path)\([^()]*$")
_WRITE_MODE = re.compile(r"['\"],\s*(?:mode=)?['\"][wax]|['\"]\)\.w")


def verify_claims(
    session: Session, notes: Sequence[Note], *, final_index: int | None, redactor: Redactor
) -> tuple[Claim, ...]:
    """Return the claims of the final answer, in its order, each held against the calls in `notes`.

    Nothing is told from what is absent when earlier messages were replaced by a summary.
    """
    stated = find_claims(session.messages[final_index].text) if final_index is not None else ()
    if not stated or final_index is None:
        return ()
    is_whole = not session.compacted
    verifier = ClaimVerifier(ClaimEvidence(notes, session.messages, is_whole=is_whole, reported=session.reported))
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


class ClaimVerifier:
    """Holds the claims of one session against its calls."""

    def __init__(self, evidence: ClaimEvidence) -> None:
        self._evidence = evidence
        self._tests = TestedWork(evidence)

    def verify(self, claim: StatedClaim) -> Verification | None:
        """Return what the record says of a claim, with its evidence; None for an action that no call is about."""
        match claim.kind:
            case ClaimKind.FILE_WRITTEN:
                return self._file_written(claim)
            case ClaimKind.TESTS_PASSED:
                return self._tests_passed(claim)
            case ClaimKind.BUG_FIXED:
                return self._bug_fixed(claim)
            case ClaimKind.COMMITTED | ClaimKind.DEPLOYED | ClaimKind.INSTALLED:
                return self._by_command(claim)
            case ClaimKind.SENT:
                return self._sent(claim)
            case _:
                return self._ran(claim.command, well=claim.runs_well) if claim.command else self._acted(claim)

    def _file_written(self, claim: StatedClaim) -> Verification:
        name = basename(claim.subject or "")
        about = [each for each in self._evidence.runs if name in each.arguments]
        done = (each for each in reversed(about) if each.worked and _writes(each, name))
        last = [*islice(done, _MOST_EVIDENCE)][::-1]
        if last:
            return Support.VERIFIED, _places(last)
        if about:
            return self._left_unwritten(about, [each for each in about if _writes(each, name)], name)
        return _CONTRADICTED if claim.by_agent and self._never_written(name) else _UNSUPPORTED

    def _left_unwritten(self, about: list[ToolRun], writes: list[ToolRun], name: str) -> Verification:
        """Verify a file that calls are about, and that none of them wrote as far as is known.

        A command of several parts may have written before one of them failed.
        """
        if not self._evidence.could_write:
            return Support.CONTRADICTED, _places(about)
        is_refused = all(each.worked is False for each in about) and not self._may_be_done_after(about[0])
        edits = [each for each in writes if not (each.command and _PART.search(each.command))]
        if is_refused and (edits or self._is_absent(about[-1], name)):
            return Support.CONTRADICTED, _places(writes or about)
        return _UNSUPPORTED

    def _never_written(self, name: str) -> bool:
        """Return whether no call can have written a file, or its name stands in none and no program makes it up."""
        stem = name.partition(".")[0]
        is_plain = len(stem) >= _SHORTEST_STEM and stem.replace("_", "").replace("-", "").isalpha()
        evidence = self._evidence
        return not evidence.could_write or (is_plain and not evidence.made_up and not evidence.mentions(stem))

    def _is_absent(self, look: ToolRun, name: str) -> bool:
        """Return whether a call says of this very file that there is none."""
        said = look.ending(_ABSENT_CHARACTERS)
        return any(
            _ABSENT_AFTER.match(said, at + len(name)) or _ABSENT_BEFORE.search(said[:at][-_PART_CHARACTERS:])
            for at in islice(mentions_of(name, said), _MOST_MENTIONS)
        )

    def _tests_passed(self, claim: StatedClaim) -> Verification:
        """Verify it by the last run. Who changed nothing and ran nothing may tell of tests that others ran."""
        if self._tests.last_run is None:
            return _CONTRADICTED if self._has_tried and not self._could_run else _UNSUPPORTED
        index, result = self._tests.last_run
        if result is not TestsResult.PASSED:
            return self._some_passed() if claim.is_limited else self._red(index)
        return (Support.VERIFIED, (index,)) if self._tests.covers(index) else _UNSUPPORTED

    def _some_passed(self) -> Verification:
        """Verify that some tests pass where the last run was red: another one may have been about these."""
        tests = list(self._tests.runs_backwards())
        green = [index for index, result in tests if result is TestsResult.PASSED and self._tests.covers(index)]
        if green:
            return Support.VERIFIED, (green[0],)
        is_all_red = all(result is TestsResult.NONE_PASSED for _, result in tests)
        return (Support.CONTRADICTED, (tests[0][0],)) if is_all_red else _UNSUPPORTED

    def _red(self, index: int) -> Verification:
        """Verify by a red run: who changed something after it may have run them again in another way."""
        return _UNSUPPORTED if self._tests.last_edit > index else (Support.CONTRADICTED, (index,))

    def _bug_fixed(self, claim: StatedClaim) -> Verification:
        """Verify a fix by the tests after the last edit. Some that fail beside others that pass need not be about it.

        Who changed nothing, and does not name itself, may tell of a fix by others.
        """
        if not (claim.by_agent or self._has_tried):
            return _UNSUPPORTED
        if self._tests.last_run is None:
            return _UNSUPPORTED if self._evidence.could_write or not self._is_at_code else self._refused_edits()
        index, result = self._tests.last_run
        if result is TestsResult.NONE_PASSED:
            return _UNSUPPORTED if self._tests.has_passed_since_the_edit else (Support.CONTRADICTED, (index,))
        if result is TestsResult.PASSED and self._tests.last_edit >= 0 and self._tests.covers(index):
            return Support.VERIFIED, (self._tests.last_edit, index)
        return _UNSUPPORTED

    @property
    def _has_tried(self) -> bool:
        """True if the agent changed anything, or tried to. Who did not may tell of what others did."""
        return self._evidence.could_write or any(each.purpose is Purpose.WRITE for each in self._evidence.runs)

    @property
    def _is_at_code(self) -> bool:
        return any(each.command or each.paths for each in self._evidence.runs)

    def _refused_edits(self) -> Verification:
        return Support.CONTRADICTED, _places([each for each in self._evidence.runs if each.purpose is Purpose.WRITE])

    @property
    def _could_run(self) -> bool:
        """True if anything may have been run. Without any call, another program may have run what is shown."""
        runs = self._evidence.runs
        return (
            not (runs and self._evidence.is_whole)
            or self._evidence.reaches_out
            or any(each.purpose in _MAY_RUN or each.command for each in runs)
        )

    def _by_command(self, claim: StatedClaim) -> Verification:
        """Verify what is done by a program of its own, or a tool that bears its name."""
        pattern, words = _PROGRAMS[claim.kind]
        done = [each for each in self._evidence.runs if _is_called(each, pattern, words) and _is_the_one(each, claim)]
        if not done:
            is_own = claim.kind is not ClaimKind.DEPLOYED and (claim.by_agent or self._has_tried)
            return _CONTRADICTED if is_own and not (self._could_run or self._may_be_hosted) else _UNSUPPORTED
        verification = self._attempted(done)
        if verification[0] is not Support.CONTRADICTED:
            return verification
        may_be_done = any(_is_handed_on(each.command, pattern) for each in self._evidence.runs)
        return _UNSUPPORTED if may_be_done else verification

    @property
    def _may_be_hosted(self) -> bool:
        """True if a tool of a place that keeps repositories was called. It commits with no command."""
        return any(not each.changes_nothing and not _HOSTS.isdisjoint(each.words) for each in self._evidence.runs)

    def _sent(self, claim: StatedClaim) -> Verification | None:
        sending = [each for each in self._evidence.runs if not _SENDING.isdisjoint(each.words) or _sends(each.command)]
        if sending:
            return self._sent_to(claim.subject, sending)
        if not claim.by_agent:
            return None
        return _UNSUPPORTED if self._evidence.could_act else _CONTRADICTED

    def _sent_to(self, receiver: str | None, sending: list[ToolRun]) -> Verification:
        """Verify that something was sent, and to whom where the claim names an address."""
        if receiver is None or "@" not in receiver:
            return self._attempted(sending)
        to_them = [each for each in sending if receiver.lower() in each.arguments.lower()]
        if to_them or not any(each.worked for each in sending):
            return self._attempted(to_them or sending)
        if not self._evidence.is_whole or self._evidence.has_shell:
            return _UNSUPPORTED
        is_to_others = all(address_in(each.arguments) for each in sending)
        return (Support.CONTRADICTED, _places(sending)) if is_to_others else _UNSUPPORTED

    def _ran(self, command: str, *, well: bool) -> Verification:
        """Verify that a command was run, or also that it worked when it was run last."""
        program = command.split(maxsplit=1)[0]
        named = basename(program) if well else program
        ran = [
            each for each in self._evidence.runs if each.command and each.worked is not None and named in each.command
        ]
        if not ran:
            return _UNSUPPORTED if self._could_run else _CONTRADICTED
        if not well or ran[-1].worked:
            return Support.VERIFIED, _places(ran)
        return Support.CONTRADICTED, _places(ran[-1:])

    def _acted(self, claim: StatedClaim) -> Verification | None:
        """Verify an action of a tool that is made for it; a shell can do anything under any name."""
        if self._evidence.has_shell:
            return None
        acted = [each for each in self._evidence.runs if not each.changes_nothing and claim.is_done_by(each.words)]
        if not acted:
            is_made_up = claim.by_agent and claim.is_action and self._evidence.runs and not self._evidence.could_act
            return _CONTRADICTED if is_made_up else None
        if claim.subject:
            acted = [each for each in acted if claim.subject in each.arguments]
        return self._attempted(acted)

    def _attempted(self, runs: list[ToolRun]) -> Verification:
        """Verify what was tried: it was done if one run worked, and was not if each one failed and none came after."""
        done = [each for each in runs if self._worked(each)]
        if done:
            return Support.VERIFIED, _places(done)
        is_refused = all(each.worked is False or self._is_refused(each) for each in runs)
        if runs and is_refused and not self._may_be_done_after(runs[0]):
            return Support.CONTRADICTED, _places(runs)
        return _UNSUPPORTED

    def _may_be_done_after(self, failed: ToolRun) -> bool:
        """Return whether a later call, by whatever tool, may have done what one could not."""
        later = [each for each in self._evidence.runs if each.index > failed.index]
        return any(may_have_written(each) and self._worked(each) and not is_of_another(each, failed) for each in later)

    def _worked(self, each: ToolRun) -> bool:
        return each.worked is True and not self._is_refused(each)

    def _is_refused(self, each: ToolRun) -> bool:
        """Return whether a command says that it did nothing. Its exit code is that of the last program in its pipe."""
        said = each.ending(_ABSENT_CHARACTERS) if each.command else ""
        return _NOTHING_DONE.search(said) is not None and not _SOMETHING_DONE.search(said)


def _writes(each: ToolRun, name: str) -> bool:
    """Return whether this call is there to write the file of that name."""
    if each.command:
        mentions = islice(mentions_of(name, each.command), _MOST_MENTIONS)
        return any(_is_target(each.command, at, at + len(name)) for at in mentions)
    if each.paths:
        return each.purpose is Purpose.WRITE and any(same_file(path, name) for path in each.paths)
    return not each.changes_nothing


def _is_target(command: str, start: int, end: int) -> bool:
    """Return whether the part of a command that names a file writes to it."""
    before = _PART.split(command[max(0, start - _PART_CHARACTERS) : start])[-1]
    return bool(_WRITES_NEXT.search(before) or (_OPENS_NEXT.search(before) and _WRITE_MODE.match(command, end)))


def _sends(command: str) -> bool:
    """Return whether a command sends anything. Fetching a page sends nothing."""
    return bool(_SENDS.search(command) or (_CLIENT.search(command) and _POSTS.search(command)))


def _is_git(command: str, verb: str) -> bool:
    spoken_of = _SPOKEN.sub("", command)
    return any(found[1] == verb for found in islice(_GIT.finditer(spoken_of), _MOST_MENTIONS))


def _is_called(each: ToolRun, pattern: re.Pattern[str], words: frozenset[str]) -> bool:
    if not each.command:
        return not words.isdisjoint(each.words)
    if not pattern.search(each.command) or _DRY_RUN in each.command or only_looks(each.command):
        return False
    return not _is_handed_on(each.command, pattern)


def _is_the_one(each: ToolRun, claim: StatedClaim) -> bool:
    """Return whether it is the claimed commit or push, or the installation of the claimed package."""
    match claim.kind:
        case ClaimKind.COMMITTED:
            return not each.command or _is_git(each.command, (claim.command or "").rpartition(" ")[2])
        case ClaimKind.INSTALLED:
            return (claim.subject or "").lower() in each.arguments.lower()
        case _:
            return True


def _is_handed_on(command: str, pattern: re.Pattern[str]) -> bool:
    """Return whether every match is in text only written to somewhere, as to a console, where it may run or not."""
    return pattern.search(command) is not None and pattern.search(_SPOKEN.sub("", command)) is None


def _places(runs: list[ToolRun]) -> tuple[int, ...]:
    return tuple(each.index for each in runs[-_MOST_EVIDENCE:])
