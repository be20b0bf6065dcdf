"""Claims that a program ran well, with its name or without: "`./a.sh` runs without errors", "The script completed"."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Final

from grader_daemon.analysis.claims.clauses import is_denied, is_quoted, sentence
from grader_daemon.analysis.claims.stated_checks import NO_FAILURE, NOT_PASSED
from grader_daemon.analysis.claims.stated_claim import MOST_CLAIMS, StatedClaim
from grader_daemon.domain.claims import ClaimKind
from grader_daemon.domain.late_pattern import late_pattern

_RUNS_WELL = late_pattern(
    r"`([^`\n]{2,120})`[^.;!?\n`]{0,40}?\b(?:runs|executes|works|completes|compiles|builds|starts)"
    r" (?:\w+ ){0,2}(?:successfully|correctly|cleanly|fine|perfectly|without (?:any )?"
    r"(?:errors?|issues|problems|warnings))"
)
_PROGRAM_RAN = late_pattern(
    r"([spcetmif](?<=\b.)(?:cript|rogram|ommand|ode|ipeline|raining|valuation|igration|imulation|xperiment"
    r"|nference|ine-tuning))s?(?: (?:process|step|job|execution))?"
    r"(?: (?:has|have|had|was|were|been|now|also|then|both|all)){0,3}"
    r" (?:(?:successfully|correctly) (?:ran|run|runs|executed|completed|finished|worked|works)"
    r"|(?:ran|run|runs|executed|executes|completed|finished|finishes|worked|works)"
    r" (?:\w{1,12} ){0,2}?(?:successfully|cleanly|correctly|perfectly|without (?:any )?(?:errors?|issues?|problems))"
    r"|(?<=(?:has|ave) )(?:been )?(?:completed|finished))\b"
)
"""A program and that it ran well. The pattern begins with one set of letters, which makes its search fast."""

WORKING: Final = frozenset({b"runs", b"executes", b"works", b"completes", b"compiles", b"builds", b"starts"})
RUNNING: Final = WORKING | {b"ran", b"run", b"executed", b"completed", b"finished", b"finishes", b"worked"}
PROGRAMS: Final = frozenset(
    {b"script", b"scripts", b"program", b"programs", b"command", b"commands", b"code", b"pipeline", b"training"}
    | {b"evaluation", b"migration", b"simulation", b"experiment", b"experiments", b"inference", b"tuning"}
)
WELL: Final = frozenset(
    {b"successfully", b"cleanly", b"correctly", b"perfectly", b"without", b"completed", b"finished"}
)
"""Words of which one of each set stands where one of these claims does."""


def running_well(text: str, low: str) -> Iterator[tuple[int, StatedClaim]]:
    """Yield what is said to run well: "`./build.sh` now runs without errors"."""
    for found in _RUNS_WELL.finditer(text):
        start, end = sentence(low, found.end() - 1)
        told = NO_FAILURE.sub("", low[found.end(1) : end])
        if not NOT_PASSED.search(told) and not is_denied(low[start : found.start()]):
            said = text[start:end]
            yield found.start(), StatedClaim(ClaimKind.COMMAND_RAN, found[1], found[1], runs_well=True, said=said)


def program_ran(text: str, low: str) -> Iterator[tuple[int, StatedClaim]]:
    """Yield that a program without a name ran well: "The script executed successfully"."""
    for found in islice(_PROGRAM_RAN.finditer(low), MOST_CLAIMS):
        start, end = sentence(low, found.start())
        clause = NO_FAILURE.sub("", low[start:end])
        is_told = low[end : end + 1] != "?" and not is_quoted(low, found.start())
        if is_told and not (NOT_PASSED.search(clause) or is_denied(clause)):
            said = text[start:end]
            yield found.start(), StatedClaim(ClaimKind.COMMAND_RAN, words=(found[1],), runs_well=True, said=said)
