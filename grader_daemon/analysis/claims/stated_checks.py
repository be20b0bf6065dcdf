"""Claims of an answer about checks: that tests pass, that it builds, that a type check or a linter found nothing.

"All 12 tests pass", "12 passed", "the suite is green", "Verification: `pnpm test` passed", "- Lint: ✅". What is
denied, planned, conditional, asked or told for the person to do is none, as for other claims.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice
from typing import Final

from grader_daemon.analysis.claims.builds import BuildKind, kinds_of_builds
from grader_daemon.analysis.claims.clauses import is_hedged, is_quoted, sentence
from grader_daemon.analysis.claims.stated_claim import StatedClaim
from grader_daemon.analysis.claims.subjects import QUOTED, first_file
from grader_daemon.analysis.claims.test_commands import runs_tests
from grader_daemon.domain.claims import ClaimKind
from grader_daemon.domain.late_pattern import late_pattern
from grader_daemon.domain.phrases import holds_any

_MOST_WORDS: Final = 60
_MOST_CELLS: Final = 4
_NEAR: Final = 150
_NOUNS: Final = tuple(
    "test spec suite build lint type compil ruff mypy tsc clippy passed pyright `make npm cargo gradle".split()
)
"""One of these stands near each word by which a check is said to be fine."""

_TEST_WORD = late_pattern(r"\b(?:tests?|test ?cases?|test ?suites?|suite|unittests?|doctests?|specs)\b")
_PASS_WORD = late_pattern(
    r"[psgc✅✔✓](?:(?<=\bp)ass(?:es|ed|ing)?\b|(?<=\bs)ucceed(?:s|ed)?\b|(?<=\bs)uccessful(?:ly)?\b|(?<=\bg)reen\b"
    r"|(?<=\bc)lean(?:ly)?\b|(?<=\bc)ompiles\b|(?<=[✅✔✓]))"
)
"""Words and signs by which a check is said to be fine. The pattern begins with one set, which makes its search fast."""

_SIGNS: Final = frozenset("✅✔✓")
SIGNS: Final = tuple(each.encode() for each in (*sorted(_SIGNS), "通过", "тест", "Тест", "grün", "passés", "réussi"))
"""Signs, and words with other letters, of which one stands in an answer that claims by them."""

OF_SIGNS: Final = frozenset({b"sign"})
PASSING: Final = OF_SIGNS | frozenset(
    {b"pass", b"passes", b"passed", b"passing", b"succeed", b"succeeds", b"succeeded", b"successful", b"successfully"}
    | {b"green", b"clean", b"cleanly", b"compiles", b"bestehen", b"bestanden", b"durch", b"erfolgreich", b"passent"}
    | {b"verts", b"pasan", b"pasaron", b"pasado", b"verde", b"exitosas", b"exitosamente"}
)
CHECKS: Final = OF_SIGNS | frozenset(
    {b"test", b"tests", b"testcase", b"testcases", b"unittests", b"doctests", b"specs", b"suite", b"passed", b"passing"}
    | {b"build", b"builds", b"compiles", b"compilation", b"lint", b"linter", b"linting", b"eslint", b"ruff", b"mypy"}
    | {
        b"tsc",
        b"typecheck",
        b"type",
        b"types",
        b"pyright",
        b"flake8",
        b"clippy",
        b"pytest",
        b"vitest",
        b"jest",
        b"check",
    }
    | {b"pruebas"}
)
"""Words without which no check is claimed: one of each set stands in the answer."""
_FINE: Final = frozenset({"clean", "cleanly", "successful", "successfully", "compiles"})
"""Such words that are said of other things too: of builds, type checks and linters they tell that one is fine."""

_COUNTED = late_pattern(r"\b[1-9]\d{0,5} (?:(?:unit |new |existing |regression )?tests? )?(?:passed|passing)\b")
_COUNT = late_pattern(
    r"(?<![\d.,/])(\d{1,6})(?: ?/ ?(\d{1,6})| (?:of|out of) (\d{1,6}))? (?:[a-z_-]{1,20} ){0,2}?"
    r"(?:tests?|test cases|specs|passed|passing|pass)\b"
)
NOT_PASSED = late_pattern(
    r"\b(?:not|never|no|none|cannot|unable|should|would|could|can|may|might|will|shall|must|needs?|want|try|if|once"
    r"|unless|until|till|when(?:ever)?|before|please|let|ensures?|make sure|whether|assuming|except|apart|but"
    r"|only|some|most|many|half|almost|nearly|how|what|expected|unlike|previously|fails?|failed|failing|failures?"
    r"|[a-z]+n't|pass(?:es|ed|ing)? (?:in(?! \d)|through|as|an?|null|none|to|it|them|along|by|over)|partially)\b"
    r"|'ll\b|\?"
    r"|\bpass(?:es|ed|ing)? (?:the|this|that|each|its)\b"
    r"(?! (?:[\w-]{1,15} ){0,2}(?:tests?|suite|specs|checks?|lint|build)\b(?! of\b))"
)
_NOT_BEFORE = late_pattern(
    r"\b(?:after|to|authors?|they (?:say|report|claim)|according|reports? that|says? that|claims? that|paper|article)\b"
)
"""Words before a claim that make it another's, or none."""
_LIMITED = late_pattern(
    r"\b(?:other|new|these|those|both|relevant|related|affected|specific|added|remaining|unit|integration|targeted)\b"
    r"|\b(?:tests?|cases|suites?) (?:for|in|of|on)\b"
)
_TELLS_OF_RED = late_pattern(
    r"\bfails\b|\b(?:they|tests|still|which|that|and|also|would) fail\b|\b(?:are|is|still|which|keeps?) failing\b"
    r"|\bremaining (?:errors?|failures?|failing)\b|\bpre-?existing\b|\bunrelated\b|\bflaky\b|\bexpected failures?\b"
)
NO_FAILURE = late_pattern(
    r"\b(?:0|no|zero|without(?: any)?) (?:errors?|failed|failures?|failing|regressions?)\b|\bas expected\b"
)
_STILL = late_pattern(
    r"\b(?:continues?|continued) to (?=pass|succeed)|\b(?:previously|formerly|once)[ -]failing (?=tests?\b)"
)
_IMPERATIVE = late_pattern(
    r"[^\w`]*(?:\d+\W+)?(?:run|verify|check|confirm|watch|see|make|get|keep|add|write|tests? that)\b"
)
_WHOLE = late_pattern(
    r"\b(?:all|every|full|entire|whole|complete)\b(?: \w{1,15}){0,2} (?:tests?|suite|specs)\b|\ball \d"
)
_FULL = late_pattern(r"\b(?:full|entire|whole|complete) (?:\w{1,15} ){0,2}(?:suite|tests?)\b")
_CONDITION = late_pattern(
    r"\b(?:if|once|when(?:ever)?|unless|until|after|before|except|apart|aside|assuming|provided|without|should"
    r"|will|would|not)\b"
    r"|n't\b|\""
)
_NAMES_CHECK = late_pattern(r"\b(?:tests?|suite|specs|builds?|lint\w{0,3}|type[ -]?check\w{0,3}|\d{1,6})\b")
_KINDS: Final = (
    (BuildKind.LINT, late_pattern(r"\b(?:lint(?:s|er|ers|ing)?|eslint|ruff|flake8|clippy|pylint|rubocop)\b")),
    (BuildKind.TYPES, late_pattern(r"\b(?:type[ -]?check(?:s|ing|er|ed)?|typings?|tsc|mypy|pyright|types)\b")),
    (BuildKind.BUILD, late_pattern(r"\b(?:builds?|compiles|compilation)\b")),
)
_SAID_OF = late_pattern(
    r"(?:\b(?:builds?(?! #?\d)|compil(?:es|ation)|lint\w{0,4}|type[ -]?check\w{0,3}|types|eslint|ruff|mypy|tsc|clippy"
    r"|flake8|pyright)\b[`\"*)]{0,3}(?: --?[\w-]{1,20}){0,3}[`\"*)]{0,3}[:,]?(?: [\w-]{1,15}){0,5}? ?"
    r"|`[^`]{0,60}`[ *:–—-]{0,4}(?:\w{1,12} ){0,3})"
    r"\W{0,6}(?:pass\w{0,3}|succeed\w{0,2}|successful(?:ly)?|green|clean(?:ly)?|[✅✔✓])"
    r"|\bcompiles (?:successfully|cleanly|fine|without (?:any )?(?:errors?|warnings?|issues))"
    r"|[✅✔✓]\W{0,4}(?:\w{1,12} ){0,2}?(?:builds?|compil\w{2,6}|lint\w{0,4}|type[ -]?check\w{0,3}|eslint|mypy|tsc)"
    r"\W{0,3}(?:$|\(|pass|succe|clean|green)|[✅✔✓]\W{0,4}(?:\w{1,12} ){0,2}?`"
    r"|\bclean (?:build|lint|compile|type[ -]?check)\b|\bpass(?:es|ed)? (?:the )?(?:lint|type[ -]?check|build)"
)
"""A check and the word that it is fine, beside each other."""

_TESTS_FINE = late_pattern(
    r"\b(?:tests?|suite|specs)\b[`*]{0,3} (?:(?:suite|now|all|still|script) ){0,2}"
    r"(?:runs?|ran|completes?|completed|executes?|executed|finish(?:es|ed)|is|are|were|was)"
    r"(?: \w{1,12}){0,2} (?:clean(?:ly)?|successful(?:ly)?)\b"
)
_TESTS_SIGN = late_pattern(
    r"(?:\btests?|\bsuite|\bspecs)[`*)]{0,3}[ :|*–—-]{0,6}[✅✔✓]"
    r"|[✅✔✓]\W{0,4}(?:all )?(?:\d{1,6} )?(?:[a-z-]{1,12} ){0,2}tests?\W{0,3}(?:$|\(|\d)"
)
_FOREIGN: Final = (
    late_pattern(
        r"\btests?(?:-?suite)? (?:[\w-]{1,20} ){0,7}(?:bestehen|besteht|bestanden|grün|erfolgreich|durchgelaufen)\b"
        r"|\b(?:tests?|testsuite) (?:laufen|läuft) (?:[\w-]{1,15} ){0,4}(?:durch|ohne fehler)\b"
    ),
    late_pattern(r"\btests? (?:\w{1,15} ){0,3}(?:passent|réussissent|verts|passés|réussi)\b"),
    late_pattern(r"\b(?:pruebas|tests?) (?:\w{1,15} ){0,3}(?:pasan|pasaron|pasado|verde|exitosas|exitosamente)\b"),
    late_pattern(r"\bтест\w{0,3} (?:[\w-]{1,20} ){0,5}(?:проход[яи]т|прошли|прош[её]л|пройден[аоы]?)\b"),
    late_pattern(r"测试(?:用例)?[^。，；！？\n]{0,8}?通过"),
)
_FOREIGN_ALL = late_pattern(r"\b(?:alle|komplette|gesamte|ganze|tous|toutes|todas|todos|все|всех)\b|所有|全部")
_FOREIGN_NOT = late_pattern(
    r"\b(?:nicht|kein|keine|wenn|falls|sollten?|müssen|sobald|würden?|bevor|bis|nur|pas|aucun|si|devraient|doivent|quand"
    r"|seuls?|ninguna?|d'après|selon"
    r"|laut|según|deberían?|cuando|hasta|para que|solo|не|если"
    r"|должн\w{1,2}|чтобы|когда|будут|только|кроме|нужно)\b|[?？]|未|没|不|如果|应|请|需要|才能|若|仅"
)
_FOREIGN_CUES: Final = (
    *("bestehen", "bestanden", "grün", " durch", "erfolgreich", "passent", "verts", "passés", "réussi"),
    *("pasan", "pasaron", "pasado", "verde", "exitosa", "通过", "тест"),
)
_FOREIGN_COUNT = late_pattern(r"(?<![\d.,])(\d{1,6}) ?(?:\w{1,15} ){0,2}?(?:tests?|pruebas|个)")
_LONGEST_HEAD: Final = 60
_HEAD_ENDS: Final = (":", "|")


def checks_in(text: str, low: str) -> Iterator[tuple[int, StatedClaim]]:
    """Yield the claims about checks, each with its place."""
    tells_of_red: bool | None = None
    for word in islice(_PASS_WORD.finditer(low), _MOST_WORDS):
        if not holds_any(low[max(0, word.start() - _NEAR) : word.end() + _NEAR], _NOUNS):
            continue
        start, end = _clause(low, word.start())
        start = _own_part(low, start, word.start())
        clause = _STILL.sub("", NO_FAILURE.sub("", low[start:end]))
        if low[end : end + 1] == "?" or not _is_told(low, clause, word):
            continue
        tells_of_red = bool(_TELLS_OF_RED.search(low)) if tells_of_red is None else tells_of_red
        for claim in _claims_of(clause, text[start:end], word[0], tells_of_red=tells_of_red):
            yield word.start(), claim
    if holds_any(low, _FOREIGN_CUES):
        yield from _in_other_languages(text, low)


def _clause(low: str, position: int) -> tuple[int, int]:
    """Return the clause around a place, with the name of the check that stands before it: "Lint: clean"."""
    start, end = sentence(low, position)
    line = low.rfind("\n", 0, start) + 1
    head = low[line:start].rstrip(" \t*_`") if start - line < _LONGEST_HEAD else ""
    return (line, end) if head.endswith(_HEAD_ENDS) and head.count("|") < _MOST_CELLS else (start, end)


def _own_part(low: str, start: int, position: int) -> int:
    """Return where the part of a clause begins that tells of a check, behind the last comma that does not limit it."""
    comma = max(low.rfind(", ", start, position), low.rfind(" (", start, position))
    names = _NAMES_CHECK.search
    if comma < 0 or names(low, start, comma) or not names(low, comma, position) or low.count("`", start, comma) % 2:
        return start
    return start if _CONDITION.search(low, start, comma) else comma + 2


def _is_told(low: str, clause: str, word: re.Match[str]) -> bool:
    """Return whether a clause tells that something is so."""
    if NOT_PASSED.search(clause) or _IMPERATIVE.match(clause) or clause.count("`") % 2:
        return False
    before = clause.partition(word[0])[0]
    return not (_NOT_BEFORE.search(before) or is_quoted(low, word.start()) or is_hedged(clause))


def _claims_of(clause: str, said: str, word: str, *, tells_of_red: bool) -> Iterator[StatedClaim]:
    """Yield what a clause tells of tests, and of builds and the like."""
    commands = QUOTED.findall(said)
    if _is_of_tests(clause, word, commands):
        yield from _of_tests(clause, said, commands, tells_of_red=tells_of_red)
    beside = _SAID_OF.search(said.lower())
    if beside is None:
        return
    kinds = {kind for kind, pattern in _KINDS if pattern.search(beside[0])}
    for command in commands:
        kinds |= kinds_of_builds(command)
    for kind in sorted(kinds):
        is_limited = tells_of_red or _LIMITED.search(clause) is not None
        yield StatedClaim(ClaimKind.CHECK_PASSED, kind.value, is_limited=is_limited, said=said)


def _is_of_tests(clause: str, word: str, commands: list[str]) -> bool:
    if word in _SIGNS:
        return _TESTS_SIGN.search(clause) is not None
    if word in _FINE:
        return _TESTS_FINE.search(clause) is not None
    return bool(_TEST_WORD.search(clause) or _COUNTED.search(clause)) or any(map(runs_tests, commands))


def _of_tests(clause: str, said: str, commands: list[str], *, tells_of_red: bool) -> Iterator[StatedClaim]:
    """Yield the claim that tests pass; "11 of 12 pass" says that one does not."""
    counted = _COUNT.search(clause)
    count, of_all = (int(counted[1]), counted[2] or counted[3]) if counted else (None, None)
    if of_all is not None and int(of_all) != count:
        return
    file = first_file(said)
    is_limited = tells_of_red or file is not None or _LIMITED.search(clause) is not None
    yield StatedClaim(
        ClaimKind.TESTS_PASSED,
        file,
        next(filter(runs_tests, commands), None),
        is_limited=is_limited,
        said=said,
        count=count,
        is_whole=_WHOLE.search(clause) is not None,
        is_full=_FULL.search(clause) is not None,
    )


def _in_other_languages(text: str, low: str) -> Iterator[tuple[int, StatedClaim]]:
    """Yield the plain forms in German, French, Spanish and Chinese."""
    for pattern in _FOREIGN:
        for found in islice(pattern.finditer(low), _MOST_WORDS):
            start, end = sentence(low, found.start())
            clause = low[start : max(end, found.end())]
            if _FOREIGN_NOT.search(clause) or low[end : end + 1] == "?" or is_quoted(low, found.start()):
                continue
            counted = _FOREIGN_COUNT.search(clause)
            yield (
                found.start(),
                StatedClaim(
                    ClaimKind.TESTS_PASSED,
                    is_limited=_FOREIGN_ALL.search(clause) is None,
                    said=text[start : max(end, found.end())],
                    count=int(counted[1]) if counted else None,
                    is_whole=_FOREIGN_ALL.search(clause) is not None,
                ),
            )
