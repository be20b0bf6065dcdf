"""What became of files that were written: whether the last one held, was tried out, and how the trial went."""

from __future__ import annotations

import re
from collections import Counter
from typing import Final

from grader_daemon.analysis.features.feature import Feature, log, share
from grader_daemon.analysis.features.session_window import SessionWindow, Step, as_words, ends
from grader_daemon.analysis.tool_calls import Purpose
from grader_daemon.domain.phrases import holds_any

FEATURES: Final = (
    Feature("trial", "The run after the last written file: 0 with an error, 1 without one, 0.5 without a run.", 1),
    Feature("verdict", "What the last two runs say: 1 that something passed, 0 failed, 0.5 neither or both.", 1),
    Feature("red_to_green", "Files were written, a run failed, and the last run did not.", 0.5),
    Feature("write_failed", "The last call that writes a file failed.", -1),
    Feature("read_back", "A call after the last written file names it.", 0.5),
    Feature("rewrites", "Writes of the file that was written most often, of the last writes.", -0.5, 12),
    Feature("timeouts", "Share of the last results that say that time ran out.", -1),
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
_RESULT_REACH = 400
_CALL_REACH = 300
_LAST_WORDS = 200
_UNKNOWN = 0.5


def measure(window: SessionWindow) -> tuple[float, ...]:
    """Return the features of this group, in order."""
    steps = window.steps
    effects = [step.call.effect for step in steps]
    writes = [place for place, effect in enumerate(effects) if effect is Purpose.WRITE]
    after = steps[writes[-1] + 1 :] if writes else []
    runs = [step for step, effect in zip(steps, effects, strict=True) if effect is Purpose.RUN]
    said = [as_words(ends(step.result, _RESULT_REACH)) for step in runs[-2:]]
    passed = not all(_PASSED.isdisjoint(text.split()) for text in said)
    failed = not all(_FAILED.isdisjoint(text.replace(_NONE_FAILED, b"").split()) for text in said)
    names = [_file_of(steps[place]) for place in writes[-_MOST_WRITES:]]
    return (
        _trial(after, said[-1]) if runs else _UNKNOWN,
        _UNKNOWN if passed is failed else float(passed),
        float(bool(writes and runs) and not runs[-1].failed and any(step.failed for step in runs)),
        float(bool(writes) and steps[writes[-1]].failed),
        float(bool(names) and _is_named(names[-1], after)),
        log(max(Counter(filter(None, names)).values(), default=0)),
        _timeouts([step.result[-_LAST_WORDS:] for step in steps[-_LATE:]]),
    )


def _trial(after: list[Step], said: bytes) -> float:
    """Return how the last run went, of which these are the words, if it is one of these steps."""
    last = next((step for step in reversed(after) if step.effect is Purpose.RUN), None)
    return _UNKNOWN if last is None else float(not (last.failed or holds_any(said, _ERROR)))


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
