"""Where the time of an ingest goes: clocks around the stages of the pipeline, for `throughput`.

The stages are wrapped from outside while a measurement runs, so the product carries no clock of its own. The clocks
are those of the thread's CPU: on a busy machine others show little in them. Stages whose name is indented are part of
the one above.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from importlib import import_module
from time import thread_time_ns
from typing import Any

STAGES: Mapping[str, tuple[str, ...]] = {
    "ledger lookup": ("grader_daemon.storage.sqlite.store:SqliteStore.ledger_entries",),
    "read": ("grader_daemon.sources.hermes.hermes_source:HermesSnapshots.read",),
    "  open, read": ("grader_daemon.sources.session_files:read_file",),
    "  parse": ("grader_daemon.sources.hermes.snapshot:parse",),
    "hide secrets": ("grader_daemon.analysis.analyzer:Analyzer.without_secrets",),
    "analyze": ("grader_daemon.analysis.analyzer:Analyzer.analyze",),
    "  walk": ("grader_daemon.analysis.walk:MessageWalk.to_the_end",),
    "    results": ("grader_daemon.analysis.tool_calls.outcomes:OutcomeReader.read",),
    "    failures": ("grader_daemon.analysis.tool_calls.failure_trail:FailureTrail.add",),
    "    successes": ("grader_daemon.analysis.tool_calls.failure_trail:FailureTrail.see_success",),
    "  claims": ("grader_daemon.analysis.analyzer:verify_claims",),
    "  people": ("grader_daemon.analysis.user_messages:SignalReader.read",),
    "  window": ("grader_daemon.analysis.analyzer:window_of",),
    "  features": ("grader_daemon.analysis.analyzer:features_of",),
    "grade": ("grader_daemon.grading:Grader.grade",),
    "name calls": ("grader_daemon.pipeline.examine:calls_of",),
    "save": ("grader_daemon.pipeline.ingest:Ingest.save",),
    "  rivals": ("grader_daemon.storage.sqlite.sessions:Rivals.related",),
    "  grades": ("grader_daemon.pipeline.commit:save_grades",),
    "  ledger rows": ("grader_daemon.storage.sqlite.store:SqliteStore.save_entries",),
}
"""Where each stage is called by name: here, and behind it in the commit that it is compared with, if it moved since."""

REST = "all between"
"""What no clock covers."""

_TRIES = 5_000


class StageClocks:
    """Seconds of CPU in each stage that this commit has, in one measurement; what the clocks take is taken off."""

    def __init__(self) -> None:
        self._spent = {"": 0}
        self._hidden = self._seen = self._whole = 0
        """Nanoseconds that clocks took so far; that each shows of itself; that each takes."""
        nothing = self._clock("", lambda: None)
        started = thread_time_ns()
        for _ in range(_TRIES):
            nothing()
        self._whole = (thread_time_ns() - started) // _TRIES
        self._seen = self._spent[""] // _TRIES

    @contextmanager
    def running(self) -> Iterator[None]:
        """Have every stage measured for as long as the context lasts."""
        self._spent.clear()
        self._hidden = 0
        with ExitStack() as stack:
            for label, places in STAGES.items():
                if (found := place_of(places)) is not None:
                    self._spent[label] = 0
                    stack.enter_context(self._clocked(label, *found))
            yield

    def seconds(self, whole: float) -> dict[str, float]:
        """Return the seconds of each stage in a measurement that took `whole` with the clocks."""
        spent = {label: nanoseconds / 1e9 for label, nanoseconds in self._spent.items()}
        outer = sum(seconds for label, seconds in spent.items() if not label.startswith(" "))
        return {**spent, REST: whole - self._hidden / 1e9 - outer}

    @contextmanager
    def _clocked(self, label: str, owner: Any, name: str) -> Iterator[None]:
        original = getattr(owner, name)
        setattr(owner, name, self._clock(label, original))
        try:
            yield
        finally:
            setattr(owner, name, original)

    def _clock(self, label: str, function: Callable[..., Any]) -> Callable[..., Any]:
        spent = self._spent

        def clocked(*arguments: Any, **named: Any) -> Any:
            hidden, started = self._hidden, thread_time_ns()
            try:
                return function(*arguments, **named)
            finally:
                spent[label] += thread_time_ns() - started - self._seen - (self._hidden - hidden)
                self._hidden += self._whole

        return clocked


def place_of(places: tuple[str, ...]) -> tuple[Any, str] | None:
    """Return the first of `places` that is there: what holds it, and its name in that."""
    for place in places:
        module, _, path = place.partition(":")
        *owners, name = path.split(".")
        try:
            owner: Any = import_module(module)
            for each in owners:
                owner = getattr(owner, each)
        except (ImportError, AttributeError):
            continue
        if hasattr(owner, name):
            return owner, name
    return None
