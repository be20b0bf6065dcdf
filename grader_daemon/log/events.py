"""Every event of the log: its level, its keys, when it is told, and what it says to a person in one sentence.

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
            "an agent leaves sessions in a folder that is not watched, and nobody declined it; told at each start",
            sentences.ungraded,
        ),
        "alert.opened": Event(
            "warning", _ALERT, "quality degraded, or a threshold of yours is passed", sentences.alert
        ),
        "alert.resolved": Event("notice", _ALERT, "it is back", lambda facts: f"resolved: {sentences.alert(facts)}"),
        "calibration.updated": Event(
            "notice",
            "before now policy labels better_by why",
            "other weights, or another verdict, were adopted; verdicts are given anew, from what is kept of sessions",
            sentences.updated,
        ),
        "calibration.applied": Event(
            "notice",
            "labels why before now",
            "another grader has graded all again: the verdicts on the last seven days before and now",
            "the grader changed ({why}): the last 7 days read {before} before, {now} now".format_map,
        ),
        "backlog.found": Event(
            "info",
            "files is_more",
            "a first start found so many files (`is_more`: at least), which are graded now; told of 200 and more",
            sentences.backlog_found,
        ),
        "backlog.progress": Event(
            "info",
            "examined files per_second seconds_left",
            "so many of them were examined, every five seconds and at the end; nothing in `seconds_left`: nobody knows",
            sentences.backlog_progress,
        ),
        "delivery.failed": Event(
            "warning",
            "delivery channel error attempts retry_seconds",
            "a receiver of alerts could not be told; it is tried again",
            "an alert did not get out by {channel}: {error}; tried again in {retry_seconds}".format_map,
        ),
        "fleet.away": Event(
            "warning",
            "error retry_seconds",
            "the database of the fleet does not answer; it is asked again",
            "the fleet cannot be read: {error}; tried again in {retry_seconds}".format_map,
        ),
        "fleet.decisions_unreadable": Event(
            "warning",
            "error",
            "what is noted of a fleet's alerts, silences and reports cannot be read; what is here of them stands",
            "{error}".format_map,
        ),
        "fleet.tokens_unreadable": Event(
            "error",
            "error",
            "the file of the members' tokens cannot be read, so nobody is let in to the fleet that is served",
            "nobody is let in: {error}".format_map,
        ),
        "fleet.standing_by": Event(
            "info",
            "",
            "another `fleet watch` raises the alerts of this fleet; this one takes its place when it ends",
            "another one watches this fleet; this one stands by".format_map,
        ),
        "fleet.unwatched": Event(
            "warning",
            "member last_at",
            "nobody came to an end with watching the fleet for an hour; told once an hour",
            "nobody raises the alerts of this fleet: see grader-daemon fleet status".format_map,
        ),
        "fleet.watching": Event(
            "info", "", "this `fleet watch` raises the alerts of the fleet from now on", "watching the fleet".format_map
        ),
        "hook.crashed": Event(
            "error",
            "",
            "an agent that wanted to stop could not be answered by a bug of ours; its traceback follows",
            f"an agent that wanted to stop was not answered: {OUR_BUG}".format_map,
        ),
        "hook.found": Event(
            "notice",
            "session_id agent mode is_told claim",
            "when an agent wanted to stop, the record spoke against what it said; told, unless the mode, a trial or the"
            " time forbade it",
            "{session_id}: {claim}; told: {is_told}".format_map,
        ),
        "hook.silent": Event(
            "error",
            "path error",
            "nobody can be answered: the socket cannot be made",
            "agents with a hook are not answered: {path}: {error}".format_map,
        ),
        "hook.unanswered": Event(
            "warning",
            "error",
            "an agent that wanted to stop, or another program, sent something else than known, or its session could"
            " not be read",
            "an agent that wanted to stop was not answered: {error}".format_map,
        ),
        "intake.behind": Event(
            "warning",
            "waiting oldest_seconds",
            "a file has waited for a minute and more: sessions come faster than they are graded; told once",
            sentences.behind,
        ),
        "intake.caught_up": Event(
            "info",
            "",
            "files are graded as they come again",
            "caught up: files are graded as they come again".format_map,
        ),
        "intake.paused": Event(
            "error",
            "error retry_seconds",
            "the database cannot be written (a full disk, a lock): nothing is taken in,"
            " and it is tried again for as long as it takes",
            "nothing can be saved, sessions wait on disk: {error}; tried again until it works".format_map,
        ),
        "intake.resumed": Event(
            "notice",
            "seconds tries",
            "it can be written; what waited on disk is graded",
            "saving works again, after {seconds}".format_map,
        ),
        "job.crashed": Event(
            "error",
            "job failures retry_seconds",
            "a report or check failed by a bug of ours; its traceback follows",
            f"{{job}}: {OUR_BUG}; tried again in {{retry_seconds}}".format_map,
        ),
        "job.failed": Event(
            "error",
            _TROUBLE,
            "a report or check could not be made; it is tried again after a growing pause",
            "{job}: {error}; tried again in {retry_seconds}".format_map,
        ),
        "page.crashed": Event(
            "error",
            "address",
            "a page of the dashboard failed by a bug of ours; its traceback follows",
            f"the page {{address}} failed: {OUR_BUG}".format_map,
        ),
        "place.exposed": Event(
            "warning",
            "path mode fix",
            "others may write in the folder of the database, or in the configuration; told at each start",
            "others may write in {path} (mode {mode}): {fix}".format_map,
        ),
        "quality.checked": Event(
            "info",
            _CHECK,
            "a scorer of quality said about the same as the grade",
            "{session_id}: {scorer} gives it {quality}, the grade says {ours}".format_map,
        ),
        "quality.disagreed": Event(
            "notice",
            _CHECK,
            "it said something else, and a person should look",
            "{session_id}: {scorer} gives it {quality}, the grade says {ours};"
            " please look: grader-daemon review".format_map,
        ),
        "quality.unanswered": Event(
            "warning",
            "session_id scorer error",
            "it said nothing of use",
            "{session_id}: {scorer} said nothing of use: {error}".format_map,
        ),
        "reconcile.finished": Event(
            "info",
            "folders files missing unreadable failed seconds cpu_seconds",
            "disk and ledger were compared; `debug` when nothing was missing",
            sentences.compared,
        ),
        "report.written": Event(
            "info", "week revision sessions", "a weekly report was made or replaced", sentences.report
        ),
        "run.finished": Event(
            "info",
            "seconds graded done not_done unsure no_answer open redecided skipped retry_scheduled quarantined unchanged"
            " vanished unrecorded",
            "`run --once` is done: how many sessions were graded, by verdict, and how many files were not;"
            " a number that is 0 is left out",
            sentences.finished,
        ),
        "service.incomplete": Event(
            "error",
            "files help",
            "`run --once` ends, and so many files in the watched folders could not be graded,"
            " now or in an earlier run; exit code 1",
            "{files} of the watched files could not be graded: {help}".format_map,
        ),
        "service.started": Event(
            "info",
            "pid roots database rules_version",
            "the daemon begins",
            "watching {roots}; grades go to {database}".format_map,
        ),
        "service.stopped": Event("info", "waiting finished compared", "the daemon ends", sentences.stopped),
        "service.stuck": Event(
            "error",
            "threads",
            "a thread hangs; a service manager gets no sign of life from then on, and restarts the daemon",
            "does not move: {threads}; a service manager restarts the daemon".format_map,
        ),
        "session.graded": Event(
            "info",
            "session_id path agent session_kind state task_type task completed outcome p_completed efficiency quality"
            " errors",
            "a session was graded; one line for every grade",
            sentences.graded,
        ),
        "session.loop_risk": Event(
            "warning",
            "session_id path errors api_calls",
            "a running session shows 5 failures in a row or passes 50 calls; once a session",
            "{session_id} may be in a loop: {errors} failures, {api_calls} messages of the model".format_map,
        ),
        "session.quarantined": Event(
            "error",
            "path error attempts",
            "a file is given up until it changes",
            "{path}: {error}; given up until it changes".format_map,
        ),
        "session.retry_scheduled": Event(
            "warning",
            "path error attempts retry_at",
            "a file cannot be graded yet",
            "{path}: {error}; tried again at {retry_at}".format_map,
        ),
        "session.skipped": Event(
            "info",
            "path reason session_id by",
            "a file has no grade of its own, or its grade gave way to another",
            sentences.skipped,
        ),
        "session.unchanged": Event(
            "debug", "path happened", "a file was touched, or is gone", "{path}: {happened}".format_map
        ),
        "settings.read": Event(
            "info",
            "",
            "settings and rules were read anew, as a SIGHUP asks for; the daemon goes on under them",
            "settings and rules are read anew".format_map,
        ),
        "settings.rejected": Event(
            "error",
            "error",
            "settings or rules that were to be read anew are wrong; the daemon goes on under those that it has",
            "the new settings are wrong, the old ones stay: {error}".format_map,
        ),
        "source.failed": Event(
            "error",
            "source error retry_seconds",
            "a source failed by a bug of ours, whose traceback follows, or of its adapter; the others go on, and a scan"
            " makes up for it",
            sentences.source_failed,
        ),
        "source.recovered": Event(
            "notice",
            "source failures seconds",
            "all of its sessions are found again, and a scan has made up for what was missed",
            "{source} is read again, after {seconds} and {failures} failures; what was missed is graded".format_map,
        ),
        "source.unknown_kinds": Event(
            "notice",
            _UNKNOWN,
            "an agent wrote lines of kinds that are not known, or that are no JSON: they are passed over, and the rest"
            " is graded; told once for each version of it",
            sentences.unknown_kinds,
        ),
        "source.newer_version": Event(
            "notice",
            "source version tried kinds broken path",
            "a version of an agent is newer than any that was tried; it is graded as far as it is known;"
            " told once for each version of it",
            sentences.newer_version,
        ),
        "source.unreadable_version": Event(
            "warning",
            _UNKNOWN,
            "of what a version of an agent wrote, nothing of the conversation can be read: its sessions have no grades;"
            " told once for each version of it",
            sentences.unreadable_version,
        ),
        "store.failed": Event(
            "error",
            "error retry_seconds",
            "a report or check could not be kept; it is tried again",
            "a report or check could not be kept: {error}; tried again in {retry_seconds}".format_map,
        ),
        "store.replaced": Event(
            "error",
            "database error",
            "the database was deleted, moved or replaced: it is opened anew, and what it lacks is graded again",
            "{database}: {error}; it is opened anew, and what it lacks is graded again".format_map,
        ),
        "store.upgraded": Event(
            "notice",
            "kept upgrade",
            "an earlier version left the database: it is upgraded, and a copy of before is kept",
            "{upgrade}".format_map,
        ),
        "watcher.degraded": Event(
            "warning",
            "root reason scan_seconds",
            "a folder cannot be watched: it is looked through every 2 s instead",
            sentences.degraded,
        ),
        "watcher.gap_noticed": Event(
            "info",
            "reason",
            "events may be missing: a scan follows",
            "events may be missing ({reason}): all folders are compared".format_map,
        ),
        "watcher.restarted": Event(
            "warning",
            "root reason",
            "watching works again",
            "{root} is watched again; before: {reason}".format_map,
        ),
        "worker.failed": Event(
            "error",
            "path paths",
            "a bug of ours, with its traceback; the file is put aside, the others of its batch are graded",
            sentences.failed,
        ),
    }
)


def sentence(event: Mapping[str, object], zone: tzinfo | None) -> str:
    """Return an event as one printable line; times are in `zone`, None for the machine's."""
    facts = Facts(event, zone)
    known = EVENTS.get(str(event.get("event")))
    said = known.say(facts) if known is not None else sentences.anything(facts)
    return f"{said} (held back {facts['repeated']} times)" if "repeated" in event else said
