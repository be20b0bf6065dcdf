"""Claims about runs: that tests pass, that a command works."""

from __future__ import annotations

import re
from collections.abc import Iterator

from grader_daemon.analysis.claims.clauses import is_denied, is_quoted, sentence
from grader_daemon.analysis.claims.stated_claim import StatedClaim
from grader_daemon.analysis.claims.subjects import first_file
from grader_daemon.domain.claims import ClaimKind

_RUNS_WELL = re.compile(
    r"`([^`\n]{2,120})`[^.;!?\n`]{0,40}?\b(?:runs|executes|works|completes|compiles|builds|starts)"
    r" (?:\w+ ){0,2}(?:successfully|correctly|cleanly|fine|perfectly|without (?:any )?"
    r"(?:errors?|issues|problems|warnings))"
)
_TEST = re.compile(r"\b(?:tests?|test ?cases?|test suites?|unittests?|doctests?|specs)\b")
_PASS = re.compile(r"[psg](?:(?<=\bp)ass(?:es|ed|ing)?|(?<=\bs)ucceed(?:s|ed)?|(?<=\bg)reen)\b")
_COUNTED = re.compile(r"\b[1-9]\d{0,5} (?:(?:unit |new |existing |regression )?tests? )?(?:passed|passing)\b")
_NOT_PASSED = re.compile(
    r"\b(?:not|never|no|none|cannot|unable|should|would|could|can|may|might|will|shall|must|needs?|want|try|if|once"
    r"|unless|until|till|when(?:ever)?|after|before|please|let|ensures?|make sure|whether|assuming|except|apart|but"
    r"|only|some|most|many|half|almost|nearly|to|how|what|expected|unlike|previously|fails?|failed|failing|failures?"
    r"|[a-z]+n't|pass(?:es|ed|ing)? (?:in|through|as|an?|null|none|to|it|them|along|by|over|on)|partially)\b|'ll\b|\?"
)
_LIMITED = re.compile(
    r"\b(?:other|new|these|those|both|relevant|related|affected|specific|added|remaining|unit|integration|targeted)\b"
    r"|\b(?:tests?|cases|suites?) (?:for|in|of|on)\b"
)
_TELLS_OF_RED = re.compile(
    r"\bfails\b|\b(?:they|tests|still|which|that|and|also|would) fail\b|\b(?:are|is|still|which|keeps?) failing\b"
    r"|\bremaining (?:errors?|failures?|failing)\b|\bpre-?existing\b|\bunrelated\b|\bflaky\b|\bexpected failures?\b"
)
_NO_FAILURE = re.compile(r"\b(?:0|no|zero|without(?: any)?) (?:errors?|failed|failures?|failing|regressions?)\b")
_IMPERATIVE = re.compile(r"\W*(?:\d+\W+)?(?:run|verify|check|confirm|watch|see|make|get|keep|add|write|tests? that)\b")


def tests_said(text: str, low: str) -> Iterator[tuple[int, StatedClaim]]:
    """Return the claims that tests pass."""
    tells_of_red: bool | None = None
    for word in _PASS.finditer(low):
        start, end = sentence(low, word.start())
        clause = _NO_FAILURE.sub("", low[start:end])
        if low[end : end + 1] == "?" or not (_TEST.search(clause) or _COUNTED.search(clause)):
            continue
        if _NOT_PASSED.search(clause) or _IMPERATIVE.match(clause) or clause.count("`") % 2:
            continue
        if is_quoted(low, word.start()):
            continue
        file = first_file(text[start:end])
        tells_of_red = bool(_TELLS_OF_RED.search(low)) if tells_of_red is None else tells_of_red
        is_limited = tells_of_red or file is not None or _LIMITED.search(clause) is not None
        yield word.start(), StatedClaim(ClaimKind.TESTS_PASSED, file, is_limited=is_limited)


def run_well(text: str, low: str) -> Iterator[tuple[int, StatedClaim]]:
    """Return what is said to run well: "`./build.sh` now runs without errors"."""
    for found in _RUNS_WELL.finditer(text):
        start, end = sentence(low, found.end() - 1)
        told = _NO_FAILURE.sub("", low[found.end(1) : end])
        if not _NOT_PASSED.search(told) and not is_denied(low[start : found.start()]):
            yield found.start(), StatedClaim(ClaimKind.COMMAND_RAN, found[1], command=found[1], runs_well=True)
