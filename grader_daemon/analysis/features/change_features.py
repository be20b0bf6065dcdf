"""Features of files that were written: whether the last one held, was tried out, and how the trial went."""

from __future__ import annotations

import re
from collections import Counter
from itertools import starmap
from typing import Final

from grader_daemon.analysis.features.feature import Feature, log, share
from grader_daemon.analysis.features.session_window import (
    FRAME,
    LATE_RESULT_REACH,
    LATE_RESULTS,
    SessionWindow,
    Step,
    as_words,
    ends,
)
from grader_daemon.analysis.tool_calls import Purpose
from grader_daemon.domain.phrases import holds_any

FEATURES: Final = (
    Feature("trial", "The run after the last file change: 1 if it worked, 0 if it failed, 0.5 without a run.", 1),
    Feature("verdict", "The last two runs: 1 if something passed, 0 if something failed, 0.5 for neither or both.", 1),
    Feature("red_to_green", "Files were written, a run failed, and the last run did not.", 0.5),
    Feature("write_failed", "The last call that writes a file failed.", -1),
    Feature("read_back", "A call after the last file change names the changed file.", 0.5),
    Feature("rewrites", "How often one file was written, among the last writes.", -0.5, 12),
    Feature("timeouts", "Share of the last results with a timeout.", -1),
)

_PASSED = frozenset(
    [*b"pass passed ok success successful successfully succeeded".split(), "✓".encode(), "✔".encode(), "✅".encode()]
)
_FAILED = frozenset([*b"fail failed failures assertionerror mismatch".split(), "❌".encode()])
_NONE_FAILED = b" 0 failed"
_ERROR = (b"error", b"traceback", b"exception", b"not found", b"no such file", b"cannot ", b"fatal")
_OUT_OF_TIME = ("timed out", "still running", "TimeoutError", "TimeoutExpired", "Killed")
_LED_INTO = re.compile(r">{1,2}\s?[\"'\\]{0,2}([\w./~$-]{1,200})")
_MOST_WRITES = 6
_LATE = 8
_CALL_REACH = 300
_LAST_WORDS = 200
_UNKNOWN = 0.5
_NOT_RUN = (_UNKNOWN, _UNKNOWN)
_NOT_WRITTEN = (0.0, 0.0, 0.0)


def measure(window: SessionWindow) -> tuple[float, ...]:
    """Return the features of this group, in order."""
    steps, effects = window.steps, window.step_effects
    writes = [place for place, effect in enumerate(effects) if effect is Purpose.WRITE]
    runs = [place for place, effect in enumerate(effects) if effect is Purpose.RUN]
    trial, verdict = _of_runs(window, runs, written=writes[-1] if writes else len(steps)) if runs else _NOT_RUN
    return (
        trial,
        verdict,
        float(bool(writes and runs) and not steps[runs[-1]].failed and any(steps[place].failed for place in runs)),
        *(_of_writes(steps, writes) if writes else _NOT_WRITTEN),
        _timeouts([step.result[-_LAST_WORDS:] for step in steps[-_LATE:]]),
    )


def _of_runs(window: SessionWindow, runs: list[int], *, written: int) -> tuple[float, float]:
    """Return how the last run went, if it came after the last written file, and what the last two say."""
    said = [_said(window, place) for place in runs[-2:]]
    passed = not all(_PASSED.isdisjoint(words) for _, words in said)
    failed = any(starmap(_tells_failed, said))
    last = runs[-1]
    fails = last > written and (window.steps[last].failed or holds_any(said[-1][0], _ERROR))
    return float(not fails) if last > written else _UNKNOWN, _UNKNOWN if passed is failed else float(passed)


def _said(window: SessionWindow, place: int) -> tuple[bytes, set[bytes]]:
    """Return the words of a step's result, as text and as a set: the window has read most of them."""
    text, back = window.steps[place].result, place - len(window.steps)
    if back >= -LATE_RESULTS and not text.startswith(FRAME):
        result = window.results[back]
        return result.plain, result.words
    plain = as_words(ends(text, LATE_RESULT_REACH))
    return plain, set(plain.split())


def _tells_failed(said: bytes, words: set[bytes]) -> bool:
    return not (_FAILED.isdisjoint(words) or _FAILED.isdisjoint(said.replace(_NONE_FAILED, b"").split()))


def _of_writes(steps: list[Step], writes: list[int]) -> tuple[float, float, float]:
    """Return whether the last one failed, whether its file was read back, and how often a file was written."""
    last = writes[-1]
    names = [_file_of(steps[place]) for place in writes[-_MOST_WRITES:]]
    return (
        float(steps[last].failed),
        float(_is_named(names[-1], steps[last + 1 :])),
        log(max(Counter(filter(None, names)).values(), default=0)),
    )


def _timeouts(said: list[str]) -> float:
    if not holds_any("\n".join(said), _OUT_OF_TIME):
        return 0.0
    return share(sum([holds_any(words, _OUT_OF_TIME) for words in said]), len(said))


def _file_of(write: Step) -> str:
    """Return the name of the file that a call writes, without its folder; "" where the call does not say."""
    path = write.call.path
    if path is None:
        led = _LED_INTO.search(write.call.text[:_CALL_REACH])
        path = led[1] if led else ""
    return path.rstrip("/").rpartition("/")[2]


def _is_named(name: str, steps: list[Step]) -> bool:
    return name != "" and any(name in step.call.text[:_CALL_REACH] for step in steps)
