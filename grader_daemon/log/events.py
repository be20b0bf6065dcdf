"""Every event of the log: its level, its keys, when it occurs, and one sentence for a person.

Sentences are for terminals, and for the key `message` of JSON lines. An event that is not in the table is told by its
name and its keys, so none is ever lost. A test compares the table with the calls that tell; docs/log-events.md is
written from it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import tzinfo
from types import MappingProxyType
from typing import Literal

from grader_daemon.log import sentences
from grader_daemon.log.sentences import OUR_BUG, Facts

Level = Literal["debug", "info", "notice", "warning", "error"]


@dataclass(frozen=True, slots=True)
class Event:
    """One kind of event: `keys` are those that it may have, with a space between them."""

    level: Level
    keys: str
    when: str
    say: Callable[[Facts], str]


_ALERT = "alert kind severity metric dimension name before since began_at title cause command"
_CHECK = "session_id scorer quality ours discrepancy"
_UNKNOWN = "source version kinds names broken path"
_TROUBLE = "job error failures retry_seconds"

EVENTS: Mapping[str, Event] = MappingProxyType(
    {
        "agent.ungraded": Event(
            "warning",
            "agent title path sessions is_more fix",
            "an agent that you did not decline writes sessions to a folder that is not watched; at each start",
            sentences.ungraded,
        ),
        "alert.opened": Event("warning", _ALERT, "quality got worse, or crossed a threshold you set", sentences.alert),
        "alert.resolved": Event(
            "notice", _ALERT, "quality is back to normal", lambda facts: f"resolved: {sentences.alert(facts)}"
        ),
        "calibration.updated": Event(
            "notice",
            "before now policy labels better_by why",
            "the grader changed: new weights, or rules instead of the model; the daemon updates all verdicts",
            sentences.updated,
        ),
        "calibration.applied": Event(
            "notice",
            "labels why before now",
            "a changed grader updated all verdicts; the line shows those of the last seven days before and after",
            "the grader changed ({why}): the last 7 days were {before} before, and are {now} now".format_map,
        ),
        "backlog.found": Event(
            "info",
            "files is_more",
            "number of session files found at a first start (`is_more`: there are more); not logged below 200",
            sentences.backlog_found,
        ),
        "backlog.progress": Event(
            "info",
            "examined files per_second seconds_left",
            "progress of grading the files of `backlog.found`, every five seconds and at the end",
            sentences.backlog_progress,
        ),
        "delivery.failed": Event(
            "warning",
            "delivery channel error attempts retry_seconds",
            "a receiver did not accept an alert; the daemon retries",
            "could not send an alert by {channel}: {error}; next try in {retry_seconds}".format_map,
        ),
        "fleet.away": Event(
            "warning",
            "error retry_seconds",
            "the fleet's database does not answer; `fleet watch` retries",
            "cannot read the fleet: {error}; next try in {retry_seconds}".format_map,
        ),
        "fleet.decisions_unreadable": Event(
            "warning",
            "error",
            "the fleet's alerts, silences and reports cannot be read; their local copy is used",
            "{error}".format_map,
        ),
        "fleet.tokens_unreadable": Event(
            "error",
            "error",
            "the file of members' tokens cannot be read, so `fleet serve` refuses everybody",
            "no member can log in: {error}".format_map,
        ),
        "fleet.standing_by": Event(
            "info",
            "",
            "another `fleet watch` is active; this one takes over when it ends",
            "standing by: another `fleet watch` is active".format_map,
        ),
        "fleet.unwatched": Event(
            "warning",
            "member last_at",
            "no machine has watched the fleet for an hour; repeated every hour",
            "no machine raises this fleet's alerts: see grader-daemon fleet status".format_map,
        ),
        "fleet.watching": Event("info", "", "this `fleet watch` is now active", "watching the fleet".format_map),
        "hook.crashed": Event(
            "error",
            "",
            "the hook failed because of a bug in grader-daemon; the traceback follows",
            f"the hook did not answer an agent: {OUR_BUG}".format_map,
        ),
        "hook.found": Event(
            "notice",
            "session_id agent mode is_told claim",
            "an agent wanted to stop, and the record contradicts a claim; `is_told`: whether the hook showed it (mode,"
            " trial or timeout can prevent that)",
            "{session_id}: {claim}; shown: {is_told}".format_map,
        ),
        "hook.silent": Event(
            "error",
            "path error",
            "the hook's socket cannot be created, so the hook answers no agent",
            "the hook does not work: {path}: {error}".format_map,
        ),
        "hook.unanswered": Event(
            "warning",
            "error",
            "an agent or another program sent an unknown request, or the session could not be read",
            "the hook did not answer an agent: {error}".format_map,
        ),
        "intake.behind": Event(
            "warning",
            "waiting oldest_seconds",
            "a file has waited for a minute or more, as sessions arrive faster than they are graded; once per backlog",
            sentences.behind,
        ),
        "intake.caught_up": Event("info", "", "the backlog is graded", "caught up: the backlog is graded".format_map),
        "intake.paused": Event(
            "error",
            "error retry_seconds",
            "the database is not writable (disk full or locked); sessions wait on disk, and the daemon retries until"
            " it works, `run --once` for 30 seconds",
            "cannot save grades, sessions wait on disk: {error}; retrying".format_map,
        ),
        "intake.resumed": Event(
            "notice",
            "seconds tries",
            "the database is writable again; sessions that waited on disk are graded",
            "saving works again, after {seconds}".format_map,
        ),
        "job.crashed": Event(
            "error",
            "job failures retry_seconds",
            "a report or check failed because of a bug in grader-daemon; the traceback follows",
            f"{{job}}: {OUR_BUG}; next try in {{retry_seconds}}".format_map,
        ),
        "job.failed": Event(
            "error",
            _TROUBLE,
            "a report or check failed; the daemon retries after growing pauses",
            "{job}: {error}; next try in {retry_seconds}".format_map,
        ),
        "page.crashed": Event(
            "error",
            "address",
            "a page of the dashboard failed because of a bug in grader-daemon; the traceback follows",
            f"the page {{address}} failed: {OUR_BUG}".format_map,
        ),
        "place.exposed": Event(
            "warning",
            "path mode fix",
            "other users can write to the database's folder or the settings file; at each start",
            "other users can write to {path} (mode {mode}): {fix}".format_map,
        ),
        "quality.checked": Event(
            "info",
            _CHECK,
            "the scorer and the grade agree about a session's quality",
            "{session_id}: {scorer} says {quality}, the grade says {ours}".format_map,
        ),
        "quality.disagreed": Event(
            "notice",
            _CHECK,
            "the scorer and the grade differ; a person should look at the session",
            "{session_id}: {scorer} says {quality}, the grade says {ours}; next: grader-daemon label".format_map,
        ),
        "quality.unanswered": Event(
            "warning",
            "session_id scorer error",
            "the scorer returned no usable score",
            "{session_id}: {scorer} returned no usable score: {error}".format_map,
        ),
        "reconcile.finished": Event(
            "info",
            "folders files missing unreadable failed seconds cpu_seconds",
            "a scan compared the folders with the database; level `debug` if it found nothing new",
            sentences.compared,
        ),
        "report.written": Event(
            "info", "week revision sessions", "a weekly report was written or updated", sentences.report
        ),
        "run.finished": Event(
            "info",
            "seconds graded done not_done unsure no_answer open redecided skipped retry_scheduled quarantined unchanged"
            " vanished unrecorded",
            "`run --once` is done: sessions that it graded, by their verdict in the end, and files not graded; numbers"
            " that are 0 are left out",
            sentences.finished,
        ),
        "service.incomplete": Event(
            "error",
            "files help",
            "at the end of `run --once`, some files in the watched folders could not be graded, now or in an earlier"
            " run; exit code 1",
            "{files} of the watched files could not be graded: {help}".format_map,
        ),
        "service.started": Event(
            "info",
            "pid roots database rules_version",
            "the daemon starts",
            "watching {roots}; writing grades to {database}".format_map,
        ),
        "service.stopped": Event("info", "waiting finished compared", "the daemon stops", sentences.stopped),
        "service.stuck": Event(
            "error",
            "threads",
            "a thread hangs; the daemon stops its watchdog signal, so that the service manager restarts it",
            "hanging: {threads}; the service manager will restart the daemon".format_map,
        ),
        "session.graded": Event(
            "info",
            "session_id path agent session_kind state task_type task completed outcome p_completed efficiency quality"
            " errors",
            "a session was graded; one line per grade",
            sentences.graded,
        ),
        "session.loop_risk": Event(
            "warning",
            "session_id path errors api_calls",
            "a running session has 5 errors one after another, or more than 50 tool calls; logged once per session",
            "{session_id} may be in a loop: {errors} errors, {api_calls} model messages".format_map,
        ),
        "session.quarantined": Event(
            "error",
            "path error attempts",
            "the daemon gives up on a file until it changes",
            "{path}: {error}; given up until it changes".format_map,
        ),
        "session.retry_scheduled": Event(
            "warning",
            "path error attempts retry_at",
            "a file could not be graded; the daemon retries",
            "{path}: {error}; next try at {retry_at}".format_map,
        ),
        "session.skipped": Event(
            "info",
            "path reason session_id by",
            "a file gets no grade of its own, or another file's grade replaces it",
            sentences.skipped,
        ),
        "session.unchanged": Event(
            "debug", "path happened", "a file was touched without a change, or is gone", "{path}: {happened}".format_map
        ),
        "settings.read": Event(
            "info",
            "",
            "after SIGHUP, the daemon reloaded settings and rules and uses them from now on",
            "settings and rules are reloaded".format_map,
        ),
        "settings.rejected": Event(
            "error",
            "error",
            "after SIGHUP, the new settings or rules are wrong; the daemon keeps the old ones",
            "the new settings are wrong, the old ones stay: {error}".format_map,
        ),
        "source.failed": Event(
            "error",
            "source error retry_seconds",
            "an agent's source failed because of a bug in grader-daemon (traceback follows) or in its adapter; other"
            " agents are still graded, and a later scan catches up",
            sentences.source_failed,
        ),
        "source.recovered": Event(
            "notice",
            "source failures seconds",
            "an agent's source works again, and a scan has found the sessions it missed",
            "{source} is read again, after {seconds} and {failures} failures; missed sessions are graded".format_map,
        ),
        "source.unknown_kinds": Event(
            "notice",
            _UNKNOWN,
            "an agent wrote lines of an unknown kind or invalid JSON; they are skipped, the rest is graded; once per"
            " version of the agent",
            sentences.unknown_kinds,
        ),
        "source.newer_version": Event(
            "notice",
            "source version tried kinds broken path",
            "an agent's version is newer than any tested one; known lines are graded; once per version of the agent",
            sentences.newer_version,
        ),
        "source.unreadable_version": Event(
            "warning",
            _UNKNOWN,
            "no session of an agent's version can be read, so they have no grades; once per version of the agent",
            sentences.unreadable_version,
        ),
        "store.failed": Event(
            "error",
            "error retry_seconds",
            "a report or check could not be saved; the daemon retries",
            "could not save a report or check: {error}; next try in {retry_seconds}".format_map,
        ),
        "store.replaced": Event(
            "error",
            "database error",
            "the database was deleted, moved or replaced; the daemon reopens it and grades missing sessions again",
            "{database}: {error}; reopening it and grading missing sessions again".format_map,
        ),
        "store.upgraded": Event(
            "notice",
            "kept upgrade",
            "the database was from an earlier version: it is upgraded, and a copy of the old one is kept",
            "{upgrade}".format_map,
        ),
        "watcher.degraded": Event(
            "warning",
            "root reason scan_seconds",
            "a folder cannot be watched; the daemon scans it every 2 s instead",
            sentences.degraded,
        ),
        "watcher.gap_noticed": Event(
            "info",
            "reason",
            "file events may be missing; a scan follows",
            "file events may be missing ({reason}): scanning all folders".format_map,
        ),
        "watcher.restarted": Event(
            "warning",
            "root reason",
            "file events work again",
            "{root} is watched again; the problem was: {reason}".format_map,
        ),
        "worker.failed": Event(
            "error",
            "path paths",
            "a bug in grader-daemon stopped the grading of a file (traceback follows);"
            " the file is set aside, and the rest of its batch is graded",
            sentences.failed,
        ),
    }
)


def sentence(event: Mapping[str, object], zone: tzinfo | None) -> str:
    """Return an event as one printable line; times are in `zone`, None for the machine's."""
    facts = Facts(event, zone)
    known = EVENTS.get(str(event.get("event")))
    said = known.say(facts) if known is not None else sentences.anything(facts)
    return f"{said} (repeated {facts['repeated']} times)" if "repeated" in event else said
