"""Claims that a file was written, held against the calls that are about it."""

from __future__ import annotations

import re
from itertools import islice
from typing import Final

from grader_daemon.analysis.claims.attempts import Attempts
from grader_daemon.analysis.claims.evidence import (
    CallRecord,
    ToolRun,
    same_file,
    without_spoken,
    without_written,
)
from grader_daemon.analysis.claims.read_backs import ReadBacks
from grader_daemon.analysis.claims.stated_claim import SENDING, StatedClaim
from grader_daemon.analysis.claims.subjects import basename, mentions_of
from grader_daemon.analysis.claims.undone_changes import UndoneChanges
from grader_daemon.analysis.claims.verification import (
    MOST_EVIDENCE,
    NEVER_CALLED,
    UNSUPPORTED,
    Verification,
    contradicted,
    places,
    verified,
)
from grader_daemon.analysis.tool_calls import Purpose
from grader_daemon.domain.claims import ClaimReason, Support
from grader_daemon.domain.late_pattern import late_pattern

_ABSENT_AFTER = late_pattern(r"[\\\"'`’]{0,3}:? (?:No such file or directory|does not exist|not found)", re.IGNORECASE)
_ABSENT_BEFORE = late_pattern(
    r"(?:No such file or directory|not found|does not exist): ?[\\\"'`’]{0,3}[^\s\"'`’]*$", re.IGNORECASE
)
_ABSENT_CHARACTERS = 600
_PART = late_pattern(r"&&|\|\||[;|\n]")
_PART_CHARACTERS = 240
_MOST_MENTIONS = 20
_SHORTEST_STEM = 4
_WRITES_NEXT = late_pattern(
    r">\s*[\"']?[^\s\"'<>]*$|^\s*(?:sudo )?(?:cp|mv|ln|touch|tee|wget|patch|dos2unix|install|zip|unzip|tar|gcc|g\+\+|ld"
    r"|dd|chmod|sed -i\S*|sed (?:-\w )?-i|perl -\w{0,3}i\S*|git apply|git checkout|git mv|curl|ffmpeg|convert|magick)\b"
    r"|\s(?:-o|-out|--output|--out)[= ]?[\"']?\S*$|\b(?:to_\w{1,12}|save\w{0,12}|write\w{0,12}|imwrite|dump)\([^()]*$"
)
_OPENS_NEXT = late_pattern(r"\b(?:open|Path)\([^()]*$")
_WRITE_MODE = late_pattern(r"['\"],\s*(?:mode=)?['\"][wax]|['\"]\)\.w")
_DELEGATING: Final = frozenset({"delegate", "agent", "task", "spawn"})
"""Words of tools by which another agent works, which reports what it wrote."""

_REPORT_CHARACTERS: Final = 4_000
_QUOTES: Final = ("", '"', "\\", "'")
_SPACE = late_pattern(r"\s|\\n")


class FileClaims:
    """Holds claims about files against the calls of one session."""

    def __init__(self, evidence: CallRecord, attempts: Attempts, undone: UndoneChanges) -> None:
        self._evidence = evidence
        self._attempts = attempts
        self._undone = undone
        self._read_backs = ReadBacks(evidence, undone)

    def written(self, claim: StatedClaim) -> Verification:
        """Verify that a file was written."""
        name = basename(claim.subject or "")
        about = [each for each in self._evidence.runs if name in each.arguments]
        done = (each for each in reversed(about) if each.worked and _writes(each, name))
        last = [*islice(done, MOST_EVIDENCE)][::-1]
        if last:
            back = self._undone.taken_back_at(claim.subject or "", last[-1])
            if back is not None:
                return contradicted(ClaimReason.TAKEN_BACK, last[-1].index, back)
            return verified(*places(last))
        shown = self._read_backs.shown(claim.subject or "", claim.said)
        if shown is not None:
            return Verification(Support.VERIFIED, (shown,), ClaimReason.READ_BACK)
        if about:
            return self._left_unwritten(about, [each for each in about if _writes(each, name)], name)
        return NEVER_CALLED if claim.by_agent and self._never_written(name) else UNSUPPORTED

    def _left_unwritten(self, about: list[ToolRun], writes: list[ToolRun], name: str) -> Verification:
        """Verify a file that calls are about, and that none of them wrote as far as is known.

        A command of several parts may have written before one of them failed.
        """
        if not self._evidence.could_write:
            return contradicted(ClaimReason.FAILED if writes else ClaimReason.NO_CALL, *places(writes or about))
        is_refused = all(each.worked is False for each in about) and not self._attempts.may_be_done_after(about[0])
        edits = [each for each in writes if not (each.command and _PART.search(each.command))]
        if is_refused and (edits or self._is_absent(about[-1], name)):
            return contradicted(ClaimReason.FAILED, *places(writes or about))
        return UNSUPPORTED

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


def _writes(each: ToolRun, name: str) -> bool:
    """Return whether this call is there to write the file of that name."""
    if each.command or (each.purpose is Purpose.RUN and not each.paths):
        command = without_written(without_spoken(each.command or each.arguments.replace("\\n", "\n")))
        mentions = islice(mentions_of(name, command), _MOST_MENTIONS)
        return any(_is_target(command, at, at + len(name)) for at in mentions)
    if each.paths:
        return each.purpose is Purpose.WRITE and any(same_file(path, name) for path in each.paths)
    if each.changes_nothing or each.words & SENDING:
        return False
    if each.words & _DELEGATING:
        return name in each.ending(_REPORT_CHARACTERS)
    return each.purpose is Purpose.WRITE or _is_given(each.arguments, name)


def _is_given(arguments: str, name: str) -> bool:
    """Return whether a file is what a tool was given, not spoken of in a text."""
    mentions = islice(mentions_of(name, arguments), _MOST_MENTIONS)
    return any(
        arguments[at + len(name) : at + len(name) + 1] in _QUOTES
        and not _SPACE.search(arguments, max(arguments.rfind('"', 0, at), 0), at)
        for at in mentions
    )


def _is_target(command: str, start: int, end: int) -> bool:
    """Return whether the part of a command that names a file writes to it."""
    before = _PART.split(command[max(0, start - _PART_CHARACTERS) : start])[-1]
    return bool(_WRITES_NEXT.search(before) or (_OPENS_NEXT.search(before) and _WRITE_MODE.match(command, end)))
