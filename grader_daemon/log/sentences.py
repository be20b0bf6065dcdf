"""Format the values of an event. The sentences are in `events`; those that take more than a pattern, here."""

from __future__ import annotations

import os
from collections.abc import Mapping
from datetime import datetime, tzinfo
from typing import Any

from grader_daemon.adapters import NOT_PROVIDED
from grader_daemon.domain.calendar import local
from grader_daemon.domain.text import count, duration_words

Event = Mapping[str, Any]

_UNKNOWN = "?"
_PLACES = frozenset({"path", "root", "roots", "database", "unreadable"})
_SPANS = frozenset({"seconds", "retry_seconds", "scan_seconds", "oldest_seconds"})
_LOGGERS_OWN = frozenset({"event", "level", "timestamp", "exception", "repeated"})
OUR_BUG = "a bug in grader-daemon"
_OF_ADAPTER = "AdapterError: "


class Facts:
    """The values of an event as a person reads them: times in `zone` (None: the machine's), spans with their unit."""

    def __init__(self, event: Event, zone: tzinfo | None) -> None:
        self.event = event
        self._zone = zone

    def __getitem__(self, key: str) -> str:
        value = self.event.get(key, _UNKNOWN)
        return _place(value) if key in _PLACES else _span(value) if key in _SPANS else self._said(value)

    def number(self, key: str) -> int:
        """Return a value that is a number of something; 0 when it is none."""
        value = self.event.get(key)
        return value if isinstance(value, int) else 0

    def _said(self, value: object) -> str:
        if value is None:
            return "-"
        if isinstance(value, bool):
            return "yes" if value else "no"
        if isinstance(value, datetime):
            return f"{local(value, self._zone):%Y-%m-%d %H:%M:%S %Z}"
        if isinstance(value, float):
            return f"{value:.3g}"
        if isinstance(value, (list, tuple)):
            return ", ".join(map(self._said, value)) or "none"
        return printable(str(value))


def printable(text: str) -> str:
    """Return text in which characters that a terminal obeys, or cannot show, are spelled out."""
    return text if text.isprintable() else text.encode("unicode_escape", "backslashreplace").decode("ascii")


def _place(value: object) -> str:
    """Return the name of a file or folder, or of several; what lies in the home folder as a shell takes it."""
    if isinstance(value, (list, tuple)):
        return ", ".join(map(_place, value)) or "nothing"
    home, path = os.path.expanduser("~"), printable(str(value))
    return f"~{path.removeprefix(home)}" if home.startswith("/") and path.startswith(f"{home}/") else path


def _span(value: object) -> str:
    """Return a span of seconds in words."""
    return duration_words(value) if isinstance(value, (int, float)) else _UNKNOWN


# -- sessions --------------------------------------------------------------------------------------------------------


def graded(facts: Facts) -> str:
    """Verdict, probability, kind of task, task, id; what is not known is left out."""
    outcome, task = facts["outcome"].replace("_", " "), facts.event.get("task")
    is_open = facts.event.get("state") == "open"
    head = [outcome, "(open)" if is_open else _likelihood(facts.event.get("p_completed")), facts["task_type"]]
    return "  ".join([" ".join(filter(None, head)), *([printable(str(task))] if task else []), facts["session_id"]])


def _likelihood(value: object) -> str:
    """Write a probability in three characters: .81; nothing where there is none."""
    return f"{value:.2f}".removeprefix("0") if isinstance(value, float) else ""


def skipped(facts: Facts) -> str:
    """Format the file or session that has no grade of its own any more."""
    if "by" in facts.event:
        return f"{facts['session_id']} is replaced by {facts['by']}"
    return f"{facts['path']}: skipped, {facts['reason'].replace('_', ' ')}"


def finished(facts: Facts) -> str:
    """Format the number of graded sessions, by verdict, and what became of other files."""
    outcomes = [f"{facts.number(key):,} {words}" for key, words in _OUTCOMES.items() if facts.number(key)]
    rest = [f"{facts.number(key):,} {words}" for key, words in _REST.items() if facts.number(key)]
    graded = f"{count(facts.number('graded'), 'session')} graded in {facts['seconds']}"
    return "; ".join([": ".join(filter(None, [graded, ", ".join(outcomes)])), *rest])


_OUTCOMES = {
    "done": "done",
    "not_done": "not done",
    "unsure": "unsure",
    "no_answer": "without an answer",
    "open": "open",
}
_REST = {
    "redecided": "verdicts updated: the grader changed",
    "skipped": "skipped",
    "retry_scheduled": "to be retried",
    "quarantined": "given up: grader-daemon status",
}


# -- the daemon ------------------------------------------------------------------------------------------------------


def ungraded(facts: Facts) -> str:
    """Format the sessions that are not graded, and the command that has them graded."""
    sessions = f"{'more than ' if facts.event.get('is_more') else ''}{count(facts.number('sessions'), 'session')}"
    return f"{facts['title']}: {sessions} in {facts['path']}, not graded: {facts['fix']}"


def unknown_kinds(facts: Facts) -> str:
    """Return what a version of an agent writes that is not known."""
    return f"{_writer(facts)}: {_passed_over(facts)} skipped, first in {facts['path']}"


def newer_version(facts: Facts) -> str:
    """Return that a version is newer than any that was tried, and what of it is not known."""
    over = _passed_over(facts)
    known = f"{over} skipped" if over else "no unknown lines so far"
    return f"{_writer(facts)} is newer than {facts['tried']}, the newest tested; {known}, first in {facts['path']}"


def unreadable_version(facts: Facts) -> str:
    """Return whose sessions cannot be read."""
    return f"cannot read sessions of {_writer(facts)}, so they have no grades; first in {facts['path']}"


def _passed_over(facts: Facts) -> str:
    kinds, broken = facts.number("kinds"), facts.number("broken")
    parts = [f"{count(kinds, 'unknown kind')} of line"] if kinds else []
    parts += [f"{count(broken, 'broken line')}"] if broken else []
    return " and ".join(parts)


def _writer(facts: Facts) -> str:
    version = facts.event.get("version")
    return facts["source"] if version is None else f"{facts['source']} {facts['version']}"


def stopped(facts: Facts) -> str:
    """Format what waits for the next start."""
    waiting = facts.number("waiting")
    left = f"{count(waiting, 'file')} wait on disk for the next start" if waiting else "nothing waits"
    if not facts.event.get("compared", True):
        left = "the next start scans the remaining folders"
    cut_off = "" if facts.event.get("finished") else "; the next start grades the interrupted sessions"
    return f"stopped; {left}{cut_off}"


def compared(facts: Facts) -> str:
    """Format the number of files that were compared, and of new ones."""
    files, folders = count(facts.number("files"), "session file"), count(facts.number("folders"), "folder")
    said = f"checked {files} in {folders}: {facts.number('missing'):,} new or changed"
    said += f"; cannot read {facts['unreadable']}" if facts.event.get("unreadable") else ""
    return f"{said}; failed: {facts['failed']}" if facts.event.get("failed") else said


def degraded(facts: Facts) -> str:
    """Format what is scanned instead of watched, and why."""
    what = facts["root"] if "root" in facts.event else "some folders"
    return f"cannot watch {what}; scanning every {facts['scan_seconds']} instead: {facts['reason']}"


def behind(facts: Facts) -> str:
    """Format the number of files that wait, and for how long."""
    waiting = count(facts.number("waiting"), "file")
    return f"behind: {waiting} wait to be graded, the oldest for {facts['oldest_seconds']}"


def backlog_found(facts: Facts) -> str:
    """Format the number of files that a first start found."""
    least = "at least " if facts.event.get("is_more") else ""
    return f"{least}{count(facts.number('files'), 'file')} found; grading starts, new sessions go first"


def backlog_progress(facts: Facts) -> str:
    """Format how far the grading of them is, how fast, and how long it takes yet."""
    done, files, pace = (f"{facts.number(key):,}" for key in ("examined", "files", "per_second"))
    left = facts.event.get("seconds_left")
    ends = "" if left is None else f", {duration_words(left)} left" if left else ", finished"
    return f"{done} of {files} files done, {pace} per second{ends}"


def failed(facts: Facts) -> str:
    """Format an internal error and the file it concerns."""
    of = f" ({facts['path']})" if "path" in facts.event else ""
    return f"{OUR_BUG}{of}; see the traceback"


def source_failed(facts: Facts) -> str:
    """Format the failure of a source, and whose error it is."""
    ours, error = facts["error"], facts["error"].removeprefix(_OF_ADAPTER)
    whose = f"{OUR_BUG}; " if error == ours else "" if error == NOT_PROVIDED else "a bug in its adapter; "
    return f"{facts['source']}: {error}; {whose}other agents go on, next try in {facts['retry_seconds']}"


def updated(facts: Facts) -> str:
    """Format the change of the judge that gives verdicts."""
    now, before = _judge(facts["now"]), _judge(str(facts.event.get("before") or ""))
    another = "another " if now == before else ""
    labels = f", learned from {count(facts.number('labels'), 'label')}," if facts.number("labels") else ""
    instead = f" instead of the {before}" if before and not another else ""
    return f"{another or 'the '}{now}{labels} gives verdicts{instead} now; earlier verdicts are updated"


def _judge(version: str) -> str:
    """Return who judges by a version of a policy, which ends with it: the model, or the set of rules."""
    by = version.rpartition(".")[2]
    return "set of rules" if by == "rules" else by


# -- quality ---------------------------------------------------------------------------------------------------------


def alert(facts: Facts) -> str:
    """Format what dropped, when, and why."""
    cause = f" {facts['cause']}" if facts.event.get("cause") else ""
    return f"{facts['title']}, began {facts['began_at']}.{cause} See grader-daemon alerts show {facts['alert']}"


def report(facts: Facts) -> str:
    """Format which report was written, and how to read it."""
    sessions = count(facts.number("sessions"), "session")
    return f"wrote the report of {facts['week']}, {sessions}: grader-daemon report --week {facts['week']}"


def anything(facts: Facts) -> str:
    """Return an event as its name and its keys."""
    told = ", ".join(f"{key} {facts[key]}" for key in facts.event if key not in _LOGGERS_OWN)
    name = printable(str(facts.event.get("event", _UNKNOWN)))
    return f"{name}: {told}" if told else name
