"""The tables of the log: every event with its level and keys, and what each key means."""

from __future__ import annotations

from grader_daemon.log.events import EVENTS
from tests.reference.blocks import table

KEYS = {
    "address": "address of the page that failed",
    "agent": "the agent of the sessions, such as `claude-code`",
    "alert": "number of an alert: `grader-daemon alerts show N`",
    "api_calls": "messages of the model so far",
    "attempts": "number of tries so far",
    "before": "the earlier state: the value of a metric, or the grader of earlier verdicts",
    "began_at": "when the drop began",
    "better_by": "gain in agreement with your labels",
    "broken": "number of lines that are not valid JSON",
    "by": "the session whose grade replaces it",
    "cause": "the likely cause",
    "channel": "`webhook` or `command`",
    "command": "the command that shows more",
    "completed": "the verdict: `true`, `false`, or `null` if unknown",
    "cpu_seconds": "CPU time it took",
    "database": "the database of grades",
    "delivery": "number of a message to a receiver",
    "dimension": "what the sessions of an alert have in common: all, `task_type`, `model`, `tool` …",
    "discrepancy": "difference between the two quality scores",
    "done": "sessions graded as done",
    "efficiency": "`tool_calls_efficient`, 1 to 5",
    "last_at": "time of the last completed watch",
    "member": "the fleet member who watched last",
    "error": "error message, one line",
    "errors": "tool calls that failed",
    "failures": "number of failures in a row",
    "files": "number of files",
    "finished": "false if grading was interrupted",
    "compared": "false if the first scan of all folders was not complete",
    "failed": "sources that failed because of a bug, so that some of their sessions may be missing",
    "fix": "the command that fixes it",
    "folders": "how many folders",
    "graded": "sessions graded",
    "happened": "`unchanged` or `vanished`",
    "help": "where to read more",
    "claim": "the claim, and the evidence against it",
    "is_told": "whether the person or the agent saw it",
    "is_more": "true if there are more than the number says",
    "job": "which report or check",
    "kept": "the copy of the old database",
    "kind": "type of alert: a drop, or a threshold you set",
    "kinds": "number of unknown kinds of line",
    "labels": "number of labels learned from",
    "metric": "which metric dropped",
    "missing": "files that are new or changed",
    "mode": "file permissions, in octal; for a hook its mode",
    "name": "the task type, model or tool of an alert",
    "names": "the first unknown kinds of line",
    "no_answer": "sessions without an answer",
    "not_done": "sessions graded as not done",
    "now": "the new state: the grader or the verdicts",
    "examined": "number of files that were examined so far",
    "per_second": "files examined per second, over the last half minute",
    "seconds_left": "estimated seconds until all are examined; null if not known",
    "oldest_seconds": "waiting time of the oldest file",
    "open": "sessions that are still open",
    "ours": "`response_quality` of the grade",
    "outcome": "`done`, `not_done`, `unsure`, `no_answer` or `open`",
    "p_completed": "probability that the task is done, 0 to 1",
    "path": "a session file, or a folder",
    "paths": "number of files in the batch",
    "pid": "process id",
    "policy": "grader: rules or trained model",
    "quality": "response quality, 1 to 5",
    "quarantined": "files that failed after all retries",
    "reason": "why, in a word or a line",
    "redecided": "verdicts updated because the grader changed",
    "retry_at": "time of the next try",
    "retry_scheduled": "files to be retried",
    "retry_seconds": "seconds until the next try",
    "revision": "revision of that week's report",
    "root": "a watched folder",
    "roots": "the watched folders",
    "rules_version": "version of the rules",
    "scan_seconds": "interval of the scans used instead",
    "scorer": "the scorer of quality",
    "seconds": "how long it took",
    "session_id": "the session",
    "session_kind": "how it was started: `main` means by a person; null if unknown",
    "sessions": "number of sessions",
    "severity": "`warning` or `critical`",
    "since": "the value of the metric since the drop",
    "skipped": "files without a grade of their own",
    "source": "the name of a source of sessions",
    "state": "`complete`, `interrupted` or `open`",
    "task": "what was asked for; on terminals only, never in JSON",
    "task_type": "kind of task",
    "threads": "the threads that hang",
    "title": "an alert in one line; or the display name of an agent",
    "tried": "the newest tested version",
    "tries": "number of tries",
    "unchanged": "files that were touched but not changed",
    "unreadable": "folders and databases that cannot be read",
    "unrecorded": "files set aside because of a bug",
    "unsure": "sessions graded as unsure",
    "vanished": "files that no longer exist",
    "upgrade": "the upgrade, and how to undo it",
    "version": "version of the agent; null if unknown",
    "waiting": "files that wait to be graded",
    "week": "the week of a report",
    "why": "why the change was made",
}
"""What a key means, the same in every event."""


def events_table() -> str:
    """Return one row for each event."""
    return table(
        ("event", "level", "written when", "keys"),
        [(f"`{name}`", event.level, event.when, _codes(event.keys)) for name, event in EVENTS.items()],
    )


def keys_table() -> str:
    """Return one row for each key, with the events that have it."""
    holders = {key: [name for name, event in EVENTS.items() if key in event.keys.split()] for key in KEYS}
    return table(
        ("key", "means", "in"), [(f"`{key}`", means, _codes(" ".join(holders[key]))) for key, means in KEYS.items()]
    )


def _codes(words: str) -> str:
    return " ".join(f"`{word}`" for word in words.split())
