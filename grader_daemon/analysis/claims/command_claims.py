"""Claims that a command was run, and of what programs of their own do: commit, push, install and deploy."""

from __future__ import annotations

import re
from itertools import islice
from typing import Final

from grader_daemon.analysis.claims.attempts import Attempts
from grader_daemon.analysis.claims.evidence import CallRecord, ToolRun, only_looks, without_spoken
from grader_daemon.analysis.claims.sight import ends_well, is_in_background, may_check, of_project
from grader_daemon.analysis.claims.stated_claim import StatedClaim
from grader_daemon.analysis.claims.subjects import basename
from grader_daemon.analysis.claims.verification import (
    NEVER_CALLED,
    UNSUPPORTED,
    Verification,
    contradicted,
    places,
    verified,
)
from grader_daemon.analysis.shell import read_line
from grader_daemon.analysis.tool_calls import Purpose
from grader_daemon.domain.claims import ClaimKind, ClaimReason, Support
from grader_daemon.domain.late_pattern import late_pattern

_BRANCH = late_pattern(
    r"\b(?:(?:to|on|onto) (?:the |your |my |a )?(?:branch |remote )?|branch )`([\w./-]{2,80})`(?! remote)"
)
_WENT_TO = late_pattern(r"^ .{1,60} -> ([\w./-]{1,80})(?=[\"\s]|$)", re.MULTILINE)
"""Line of a push on a branch that it changed."""

_HOSTS: Final = frozenset({"github", "gitlab", "gitea", "bitbucket", "repo", "repository"})
_DRY_RUN = "--dry-run"
_INSTALL = late_pattern(
    r"\b(?:pip3?|uv|apt|apt-get|npm|pnpm|yarn|bun|brew|dnf|yum|apk|conda|mamba|gem|cargo|go|poetry|snap|composer)"
    r"(?: [-\w=./]{1,60}){0,4} (?:install|add|i|get)\b|\bpacman -S|\bmake install\b|setup\.py (?:install|develop)"
)
_DEPLOY = late_pattern(
    r"\b(?:kubectl (?:apply|rollout|set)|helm (?:install|upgrade)|docker(?:-| )compose up|terraform apply|tofu apply"
    r"|docker (?:run|push|stack deploy)|vercel|netlify|heroku|wrangler|npm publish|twine upload|cargo publish"
    r"|systemctl (?:re)?start|pm2 (?:re)?start|git push|rsync|scp)\b|deploy"
)
_PROGRAMS: Final = {
    ClaimKind.COMMITTED: (late_pattern(r"\bgit\b"), frozenset({"commit", "push"})),
    ClaimKind.INSTALLED: (_INSTALL, frozenset({"install"})),
    ClaimKind.DEPLOYED: (_DEPLOY, frozenset({"deploy", "publish", "release"})),
}
_GIT = late_pattern(r"\bgit(?: -\S{1,40}(?: [^\s-]\S{0,80})?){0,4} ([a-z-]{1,20})\b")
_MOST_MENTIONS = 20
_GOES_ON = late_pattern(r"\bstill running\b|\btimed[ -]out\b", re.IGNORECASE)
_READ: Final = 600
_ANY_PROGRAM: Final = frozenset({"script", "program", "command", "code"})
_STEM: Final = 5
_RUNS_SCRIPT = late_pattern(
    r"(?:^|[;&|\n])[^\S\n]*(?:(?:\./|~/|/)[\w./-]{1,100}"
    r"|(?:bash|sh|zsh|python3?|node|ruby|perl|Rscript|php|java|go run|cargo run|npm run|make)\s+[^\s&|;])"
)


class CommandClaims:
    """Holds claims about commands against the calls of one session."""

    def __init__(self, evidence: CallRecord, attempts: Attempts) -> None:
        self._evidence = evidence
        self._attempts = attempts

    def by_program(self, claim: StatedClaim) -> Verification:
        """Verify what is done by a program of its own, or a tool that bears its name."""
        pattern, words = _PROGRAMS[claim.kind]
        done = [each for each in self._evidence.runs if _is_called(each, pattern, words) and _is_the_one(each, claim)]
        if not done:
            is_own = claim.kind is not ClaimKind.DEPLOYED and (claim.by_agent or self._evidence.has_tried)
            return NEVER_CALLED if is_own and not (self._evidence.could_run or self._may_be_hosted) else UNSUPPORTED
        verification = self._attempts.verify(done)
        if verification.support is Support.VERIFIED and claim.command == "git push":
            return _pushed_elsewhere(claim, done) or verification
        if verification.support is not Support.CONTRADICTED:
            return verification
        may_be_done = any(_is_handed_on(each.command, pattern) for each in self._evidence.runs)
        return UNSUPPORTED if may_be_done else verification

    @property
    def _may_be_hosted(self) -> bool:
        """True if a tool of a place that keeps repositories was called. It commits with no command."""
        return any(not each.changes_nothing and not _HOSTS.isdisjoint(each.words) for each in self._evidence.runs)

    def ran_last(self, noun: str) -> Verification | None:
        """Verify that a program without a name ran well, by the last one that ran; None if that may be another."""
        last = next((each for each in reversed(self._evidence.runs) if _runs_something(each)), None)
        if (
            last is None
            or is_in_background(last)
            or _GOES_ON.search(last.ending(_READ))
            or not (noun in _ANY_PROGRAM or noun[:_STEM] in last.command.lower())
        ):
            return None
        if not (last.is_code or _RUNS_SCRIPT.search(last.command)):
            return None
        line = None if last.is_code else read_line(last.command)
        return verified(last.index) if ends_well(last, of_project(line.programs) if line else ()) else None

    def ran(self, command: str, *, well: bool) -> Verification:
        """Verify that a command was run, or also that it worked when it was run last."""
        program = command.split(maxsplit=1)[0]
        named = basename(program) if well else program
        ran = [
            each for each in self._evidence.runs if each.command and each.worked is not None and named in each.command
        ]
        if not ran:
            return UNSUPPORTED if self._evidence.could_run else NEVER_CALLED
        if not well or ran[-1].worked:
            return verified(*places(ran))
        return contradicted(ClaimReason.FAILED, *places(ran[-1:]))


def _pushed_elsewhere(claim: StatedClaim, pushes: list[ToolRun]) -> Verification | None:
    """Return that what was pushed went to other branches alone than the one that a claim names; None if it may have."""
    told = _BRANCH.search(claim.said)
    went = [found[1] for each in pushes for found in _WENT_TO.finditer(each.ending(_READ))]
    named = any(told[1] in f"{each.command}{each.ending(_READ)}" for each in pushes) if told else True
    return None if named or not went else contradicted(ClaimReason.OTHER_TARGET, *places(pushes))


def _runs_something(run: ToolRun) -> bool:
    """Return whether a command runs a program that is not there to look at files or to handle them."""
    return bool(run.command) and run.purpose is Purpose.RUN and (run.is_code or may_check(run))


def _is_git(command: str, verb: str) -> bool:
    spoken_of = without_spoken(command)
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
    return pattern.search(command) is not None and pattern.search(without_spoken(command)) is None
