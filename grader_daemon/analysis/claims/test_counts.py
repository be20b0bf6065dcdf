"""Counts of tests, as runners print them at their end: those that passed, that failed, that were left out.

Only lines that end a run are read, in the form of the runner; so the words of a test's own output count nothing. A
command that runs several (crates, projects, packages) prints several, which are added.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from functools import lru_cache
from typing import Final, NamedTuple

from grader_daemon.domain.late_pattern import late_pattern
from grader_daemon.domain.phrases import holds_any

_MOST_LINES: Final = 25
_LONGEST_LINE: Final = 300
_COLOUR: Final = late_pattern(r"(?:\x1b|\\u001b|\\x1b)\[[\d;]{0,12}m")
_FRAME: Final = late_pattern(r"\s{0,9}\{\"\w{1,20}\": ?\"")
"""Beginning of a result that is an object, before the first line of its output."""

_SIGNS: Final = ("pass", "fail", "ran ", "ok (", "tests", "examples", "skipped", "error", "deselected")
"""One of these stands in every line that ends a run."""

_END: Final = late_pattern(
    r"[=\s]{0,90}(?P<pytest>(?:\d{1,6} [a-z]{1,12}, ){0,7}\d{1,6} [a-z]{1,12}) in \d[\d.:]{0,9} ?m?s?\b"
    r"|\s{0,9}tests:?\s{1,9}(?P<jest>\d{1,6} (?:passed|failed|skipped|todo|pending)\b.{0,120})"
    r"|test result: \w{2,6}\. (?P<cargo>\d{1,6} passed; \d{1,6} failed(?:; \d{1,6} ignored)?)"
    r"|\s{0,9}summary \[.{0,20}\] {1,3}(?P<nextest>\d{1,6} tests? run: .{0,120})"
    r"|\s{0,9}(?:#|ℹ) (?P<tap>(?:pass|fail|skipped) \d{1,6})\s{0,9}$"
    r"|\s{0,9}(?P<mocha>\d{1,6} (?:passing|failing|pending|pass|fail|passed|failed|skipped))"
    r"(?: \([\d.]{1,9} ?m?s?\))?\s{0,9}$"
    r"|(?P<unittest>ran \d{1,6}) tests? in "
    r"|(?:failed|ok) \((?P<of_unittest>(?:\w[\w ]{1,20}=\d{1,6}(?:, )?){1,5})\)"
    r"|(?:\[\w{4,7}\] )?(?P<maven>tests run: \d{1,6}, failures: \d{1,6}, errors: \d{1,6}, skipped: \d{1,6})\s{0,9}$"
    r"|\s{0,9}(?:passed|failed)! {1,3}- (?P<dotnet>failed: {1,9}\d{1,6}, passed: {1,9}\d{1,6}, skipped: {1,9}\d{1,6})"
    r"|\s{0,9}(?:\d{1,6} doctests?, )?"
    r"(?P<spec>\d{1,6} (?:examples?|tests?|runs|tests completed), .{0,60}\d fail.{0,60})"
    r"|ok \((?P<phpunit>\d{1,6} tests?), |(?P<of_phpunit>tests: \d{1,6}, assertions: .{0,80})"
    r"|\d{1,3}% tests passed, (?P<ctest>\d{1,6}) tests? failed out of (?P<of_ctest>\d{1,6})"
    r"|(?:ok|failed) \| (?P<deno>\d{1,6} passed.{0,60})"
    r"|[^\d\n]{0,40}(?P<script>\d{1,6} passed, \d{1,6} failed)\b"
    r"|[^\d\n]{0,60}(?P<ratio>\d{1,6}(?:/| of | out of )\d{1,6}) (?:\w{1,12} ){0,2}pass(?:ed|ing)?\b"
)
"""The lines by which runners end, in lower case."""

_NUMBER_FIRST: Final = late_pattern(r"(?<![\d.])(\d{1,6})(?: tests?)? ([a-z]{2,12})")
_NUMBER_LAST: Final = late_pattern(r"([a-z][a-z ]{1,20}?)[:=]? {0,9}(\d{1,6})(?!\d)")
_NUMBER: Final = late_pattern(r"\d{1,6}")
_WORD_FIRST: Final = frozenset({"tap", "unittest", "of_unittest", "maven", "dotnet", "of_phpunit"})
_RATIOS: Final = frozenset({"of_ctest", "ratio"})
_PASSED, _FAILED, _SKIPPED, _ALL = "passed", "failed", "skipped", "all"
_MEANING: Final = {
    **dict.fromkeys(("passed", "passing", "pass", "xpassed"), _PASSED),
    **dict.fromkeys(("failed", "failing", "fail", "failures", "failure", "errors", "error"), _FAILED),
    **dict.fromkeys(("skipped", "skips", "ignored", "pending", "todo", "deselected", "xfailed", "excluded"), _SKIPPED),
    **dict.fromkeys(("tests", "test", "examples", "example", "runs", "run", "ran", "tests run", "completed"), _ALL),
    **dict.fromkeys(("total",), _ALL),
}


class CountedTests(NamedTuple):
    """Tests of one run by their result."""

    passed: int
    failed: int
    skipped: int

    @property
    def ran(self) -> int:
        """Tests that ran to their end."""
        return self.passed + self.failed

    @property
    def all(self) -> int:
        """Tests that were collected."""
        return self.ran + self.skipped


@lru_cache(maxsize=64)
def counts_in(low: str) -> CountedTests | None:
    """Return what the end of a run's output, in lower case, counts; None where no runner counted."""
    found: Counter[str] = Counter()
    is_complete = False
    for kind, text in _ends(low):
        is_complete = is_complete or kind == "pytest"
        found.update(dict(_of_ratio(text)) if kind in _RATIOS else _counted(kind, text))
    if not found or not (is_complete or _PASSED in found or _ALL in found):
        return None
    passed = found[_PASSED] if _PASSED in found else found[_ALL] - found[_FAILED] - found[_SKIPPED]
    return CountedTests(max(passed, 0), found[_FAILED], found[_SKIPPED])


def _ends(low: str) -> Iterator[tuple[str, str]]:
    """Yield the lines that end a run, each with its form."""
    lines = [line for line in _COLOUR.sub("", low).split("\n") if holds_any(line, _SIGNS)]
    for line in lines[-_MOST_LINES:]:
        frame = _FRAME.match(line)
        said = line[frame.end() if frame else 0 :].partition('", "')[0][:_LONGEST_LINE]
        ended = _END.match(said)
        if ended is not None:
            kind = ended.lastgroup or ""
            yield kind, said if kind == "of_ctest" else ended[kind]


def _of_ratio(text: str) -> Iterator[tuple[str, int]]:
    """Yield passed and failed of "11/12 passed", and of the line of `ctest`, which counts those that failed."""
    first, last = (int(number) for number in _NUMBER.findall(text)[-2:])
    failed = first if "failed" in text else last - first
    yield _PASSED, max(last - failed, 0)
    yield _FAILED, max(failed, 0)


def _counted(kind: str, text: str) -> Counter[str]:
    pairs = (
        _NUMBER_LAST.findall(text) if kind in _WORD_FIRST else [(word, n) for n, word in _NUMBER_FIRST.findall(text)]
    )
    found: Counter[str] = Counter()
    for word, number in pairs:
        if word.strip() in _MEANING:
            found[_MEANING[word.strip()]] += int(number)
    return found
