"""The tables of the log: every event with its level and keys, and what each key means."""

from __future__ import annotations

from grader_daemon.log.events import EVENTS
from tests.reference.blocks import table

KEYS = {
    "address": "where the page is that failed",
    "agent": "the agent whose sessions they are, as in `claude-code`",
    "alert": "number of an alert: `grader-daemon alerts show N`",
    "api_calls": "messages of the model so far",
    "attempts": "how often it was tried",
    "before": "what held before: the value of a metric, or whose verdicts they were",
    "began_at": "when the drop began",
    "better_by": "by how much the new verdicts agree better with the labels",
    "broken": "how many lines are no JSON",
    "by": "the session whose grade stands for it now",
    "cause": "what is known of why",
    "channel": "`webhook` or `command`",
    "command": "the command that shows more",
    "completed": "the verdict: `true`, `false`, or `null` where nobody can say",
    "cpu_seconds": "processor time that it took",
    "database": "the database of grades",
    "delivery": "number of a message to a receiver",
    "dimension": "what the sessions of an alert have in common: all, `task_type`, `model`, `tool` …",
    "discrepancy": "how far two opinions of quality lie apart",
    "done": "sessions graded as done",
    "efficiency": "`tool_calls_efficient`, 1 to 5",
    "last_at": "when it last came to an end",
    "member": "the person of the fleet who watched last",
    "error": "what went wrong, in a line",
    "errors": "tool calls that failed",
    "failures": "how often in a row it failed",
    "files": "how many files",
    "finished": "whether nothing was cut off",
    "compared": "whether all folders were looked through before",
    "failed": "sources that failed by a bug of ours, so that not all of theirs was found",
    "fix": "the command that ends it",
    "folders": "how many folders",
    "graded": "sessions graded",
    "happened": "`unchanged` or `vanished`",
    "help": "where to read more",
    "claim": "what was said, and what speaks against it",
    "is_told": "whether the person or the agent was told",
    "is_more": "whether there are more than that",
    "job": "which report or check",
    "kept": "the copy of the database of before",
    "kind": "why an alert was raised: a drop, or a threshold of yours",
    "kinds": "how many kinds of lines are not known",
    "labels": "how many labels were learned from",
    "metric": "which metric dropped",
    "missing": "files that are new or changed",
    "mode": "who may write, in octal",
    "name": "the task type, model or tool of an alert",
    "names": "the first of them",
    "no_answer": "sessions without an answer",
    "not_done": "sessions graded as not done",
    "now": "whose verdicts they are now",
    "examined": "files that came to something so far",
    "per_second": "how many a second, of late",
    "seconds_left": "how long it takes yet at that pace; null: nobody knows",
    "oldest_seconds": "how long the first has waited",
    "open": "sessions that go on",
    "ours": "`response_quality` of the grade",
    "outcome": "`done`, `not_done`, `unsure`, `no_answer` or `open`",
    "p_completed": "how likely the task was completed, 0 to 1",
    "path": "a session file, or a folder",
    "paths": "how many files were being graded",
    "pid": "number of the process",
    "policy": "who decides: rules or model",
    "quality": "response quality, 1 to 5",
    "quarantined": "files given up",
    "reason": "why, in a word or a line",
    "redecided": "verdicts given anew, because another policy came into force",
    "retry_at": "when it is tried again",
    "retry_scheduled": "files to be tried again",
    "retry_seconds": "it is tried again after so long",
    "revision": "which version of the report of that week",
    "root": "a watched folder",
    "roots": "the watched folders",
    "rules_version": "version of the rules",
    "scan_seconds": "how often the folder is looked through instead",
    "scorer": "who was asked for an opinion of quality",
    "seconds": "how long it took",
    "session_id": "the session",
    "session_kind": "who had it begun: `main` is a person; null where its file does not say",
    "sessions": "how many sessions",
    "severity": "`warning` or `critical`",
    "since": "the value of the metric since the drop",
    "skipped": "files without a grade of their own",
    "source": "the name of a source of sessions",
    "state": "`complete`, `interrupted` or `open`",
    "task": "what was asked for; on terminals only, never in JSON",
    "task_type": "kind of task",
    "threads": "those that gave no sign of life",
    "title": "an alert in one line; how people call an agent",
    "tried": "the newest version that was tried",
    "tries": "how often it was tried",
    "unchanged": "files that were touched only",
    "unreadable": "folders that may not be read",
    "unrecorded": "files put aside by a bug",
    "unsure": "sessions that may be done or not",
    "vanished": "files that went away",
    "upgrade": "what was upgraded, and the way back",
    "version": "of the agent, null where nothing says it",
    "waiting": "files that wait to be graded",
    "week": "the week of a report",
    "why": "why the change was made",
}
"""What a key means, the same in every event."""


def events_table() -> str:
    """Return one row for each event."""
    return table(
        ("event", "level", "told when", "keys"),
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
