"""``status``: is the daemon up, and how far is it?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import click

from grader_daemon.api.grader import SelfGrader
from grader_daemon.api.status import QualityStatus, Status, how_to_run
from grader_daemon.api.ungraded import UngradedAgent
from grader_daemon.cli import output
from grader_daemon.cli.options import asks, json_option
from grader_daemon.domain.text import count
from grader_daemon.reports.verdicts import grader_words

_NOT_RUNNING = 3

_FILE_WORDS = {
    **dict.fromkeys(("retry", "retry_scheduled"), "to be retried"),
    **dict.fromkeys(("dead", "quarantined"), "given up"),
}


@click.command("status")
@asks
@json_option
def command(*, grader: SelfGrader, as_json: bool) -> int:
    """Show the daemon's state, folders, backlog and failed files. Exit code 3 if the daemon does not run."""
    status = grader.status()
    output.shown(status, _print, as_json=as_json)
    return 0 if status.running else _NOT_RUNNING


def _print(status: Status) -> None:
    daemon = status.daemon
    changed = status.grader_changed
    watching = daemon.watching if daemon is not None and status.running else {}
    output.facts(
        [
            ("daemon", f"running, pid {status.pid}" if status.running else f"not running: {how_to_run()}"),
            *((output.from_home(f"folder {root}"), watching.get(root, "not watched")) for root in status.roots),
            *(("not graded", ungraded_words(agent)) for agent in status.ungraded),
            ("database", output.from_home(status.database)),
            ("waiting", waiting_words(status)),
            *_comparison(status),
            ("last session", silence_words(status)),
            ("last grade", status.last_graded_at),
            *_liveness(status.lag_seconds),
            ("open alerts", f"{status.open_alerts}: grader-daemon alerts" if status.open_alerts else "none"),
            *([("grader changed", grader_words(changed))] if changed is not None and changed.moved_verdicts else []),
            *([("alerts not delivered", status.undelivered)] if status.undelivered else []),
            *([("quality checks", _checks(status.quality))] if status.quality is not None else []),
            *((f"could not grade, {agent}", path) for agent, path in status.newest_without_grade.items()),
            *((f"files {file_words(state)}", count) for state, count in sorted(status.files.items())),
            *((f"  skipped: {reason}", count) for reason, count in status.skipped.items()),
        ]
    )
    if status.troubled:
        output.line()
        output.table(
            ("file", "state", "tries", "why"),
            [(entry.path, file_words(entry.state), entry.attempts, entry.reason) for entry in status.troubled],
        )


def file_words(became: str) -> str:
    """Return what people are told of a file of this state, or with this outcome."""
    return _FILE_WORDS.get(became, became.replace("_", " "))


def counted(sessions: int, *, is_more: bool) -> str:
    """Return how many sessions were found, and that there are more where the look ended before."""
    return f"{'more than ' if is_more else ''}{count(sessions, 'session')}"


def ungraded_words(agent: UngradedAgent) -> str:
    """Return a sentence on an agent of which nothing is graded, and what to do."""
    return output.from_home(
        f"{agent.title}: {counted(agent.sessions, is_more=agent.is_more)} in {agent.path}: {agent.fix}"
    )


def waiting_words(status: Status) -> str | None:
    """Return how many files wait, and for how long if that is long."""
    if status.daemon is None or not status.running:
        return None
    waited = status.daemon.longest_wait
    late = f", the oldest for {output.duration(waited.total_seconds())}: it falls behind" if waited else ""
    return f"{status.daemon.backlog:,}{late}"


def _comparison(status: Status) -> list[tuple[str, str]]:
    """The last comparison of all folders, and what fails the daemon, which is a bug."""
    if status.daemon is None or not status.running:
        return []
    since = status.compared_seconds
    facts = [
        ("all compared", "not since the daemon started" if since is None else f"{output.duration(since)} ago"),
        *([("paused", f"{status.paused}; sessions wait on disk until there is room")] * bool(status.paused)),
    ]
    failures = _failures(status.daemon.failures, status.daemon.failing)
    return facts if failures is None else [*facts, ("failures", failures)]


def _failures(failures: Mapping[str, int], failing: Sequence[str]) -> str | None:
    """Failures of each source since the daemon started; None if none did."""
    if not failures:
        return None
    told = ", ".join(f"{source} {number:,}" for source, number in sorted(failures.items()))
    now = f"; not read completely: {', '.join(failing)}" if failing else ""
    return f"{told} since the daemon started{now}; its log says why"


def _liveness(lag_seconds: float | None) -> list[tuple[str, str]]:
    return [] if lag_seconds is None else [("graded live", f"{output.duration(lag_seconds)} after the last write")]


def _checks(quality: QualityStatus) -> str:
    """One line about the scorer that is asked."""
    said = f"{quality.calls} of {quality.calls_per_day} today by {quality.scorer}"
    if quality.disagreeing:
        said += f"; {quality.disagreeing} disagree with the grade: grader-daemon label"
    return said if quality.error is None else f"{said}; the last call without an answer: {quality.error}"


def silence_words(status: Status) -> str | None:
    """No sessions are no sign of health, nor of trouble."""
    if status.last_ended_at is None:
        return "no sessions yet"
    days = status.silent_days or 0
    said = f"no sessions for {days} day{'s' if days != 1 else ''}, since " if days else ""
    return f"{said}{output.cell(status.last_ended_at)}"
