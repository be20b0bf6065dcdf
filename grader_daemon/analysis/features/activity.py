"""What was done for the request: how much, of which kind, and whether a change was tried out afterwards."""

from __future__ import annotations

from typing import Final

from grader_daemon.analysis.features.feature import Feature, log, share
from grader_daemon.analysis.features.session_window import RecentCall, SessionWindow
from grader_daemon.analysis.tool_calls import Purpose
from grader_daemon.domain.phrases import holds_any

FEATURES: Final = (
    Feature("about_files", "The request speaks of files, folders or machines, or files were written."),
    Feature("few_turns", "At most four turns."),
    Feature("little_done", "At most four turns for work on files.", -1),
    Feature("nothing_done", "No call at all for work on files.", -1),
    Feature("turns", "Turns of the agent.", 0, 12),
    Feature("turns_of_six", "Turns as a share of six, at most 1."),
    Feature("turns_past_twenty", "Turns beyond the twentieth.", 0, 12),
    Feature("turns_for_answer", "Turns where no files are worked on.", -1, 12),
    Feature("reads", "Share of the last calls that read or look up."),
    Feature("runs", "Share of the last calls that run a command or code."),
    Feature("writes", "Share of the last calls that write files."),
    Feature("changes", "Share of the last calls that change something else."),
    Feature("run_after_write", "A command was run after the last file was written.", 1),
    Feature("test_after_write", "A test or check was run after the last file was written.", 0.5),
    Feature("tests", "Share of the last calls that test or check.", 0),
    Feature("prints", "Calls among the last that print what they find.", 0, 12),
    Feature("tools", "Distinct tools among the last calls.", 0, 12),
    Feature("longest_call", "Characters of the longest of the last calls.", 0, 12),
    Feature("last_call", "Characters of the last call.", 0, 12),
    Feature("commas_last_call", "Commas in the last call that does not hand in.", 0, 12),
)

_TESTS = ("test", "verify", "check", "assert", "diff", "curl", "validate")
_FEW = 4
_EXAMINED = 500


def measure(window: SessionWindow) -> tuple[float, ...]:
    """Return the features of this group, in order."""
    calls = window.calls
    effects = [call.effect for call in calls]
    about_files = window.about_files
    few = window.turns <= _FEW
    tests = [call.effect is Purpose.RUN and _is_test(call) for call in calls]
    after = _after_write(effects)
    lengths = [call.length for call in calls]
    return (
        float(about_files),
        float(few),
        float(few and about_files),
        float(about_files and not calls),
        log(window.turns),
        round(min(window.turns, 6) / 6, 3),
        log(max(window.turns - 20, 0)),
        0.0 if about_files else log(window.turns),
        share(effects.count(Purpose.READ), len(effects)),
        share(effects.count(Purpose.RUN), len(effects)),
        share(effects.count(Purpose.WRITE), len(effects)),
        share(effects.count(Purpose.CHANGE), len(effects)),
        float(Purpose.RUN in effects[after:]),
        float(True in tests[after:]),
        share(sum(tests), len(calls)),
        log(sum(["print" in call.arguments or "echo " in call.arguments for call in calls])),
        log(len({call.tool for call in calls})),
        log(max(lengths, default=0)),
        log(lengths[-1] if lengths else 0),
        log(_last_that_works(calls).count(",")),
    )


def _after_write(effects: list[Purpose]) -> int:
    """Return the place after the last call that wrote a file; the end when none did."""
    return len(effects) - effects[::-1].index(Purpose.WRITE) if Purpose.WRITE in effects else len(effects)


def _is_test(call: RecentCall) -> bool:
    return holds_any(call.arguments[:_EXAMINED].lower(), _TESTS)


def _last_that_works(calls: list[RecentCall]) -> str:
    return next((call.arguments for call in reversed(calls) if call.effect is not Purpose.HAND_IN), "")
