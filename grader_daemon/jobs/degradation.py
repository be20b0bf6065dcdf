"""The watch on quality: every finished session goes through the detectors once, and what they find is told once.

A session is taken up when it has been quiet for as long as a session may be idle, so one that is resumed soon is seen
as it ended. What ended before the daemon's first start is history: the detectors learn from it what is normal, and no
alert opens for it; nor for what is imported long after it ended. How far the watch has read, its detectors, its alerts
and what is to be told of them change in one transaction.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime, timedelta, tzinfo
from functools import partial

import msgspec
import structlog

from grader_daemon._version import SCHEMA_VERSION
from grader_daemon.alerts import thresholds
from grader_daemon.alerts.detector import DetectorState, read_state
from grader_daemon.alerts.settlement import Settled, announced, explained, is_only_mix, settle
from grader_daemon.alerts.watch import Alarmed, rules_for, watch
from grader_daemon.domain.alert import Alert, AlertKind, Observation, Stream
from grader_daemon.domain.calendar import Span, day_of, last_days
from grader_daemon.domain.estimate import Estimate
from grader_daemon.domain.rollup import WATCHED, Dimension, Metric
from grader_daemon.domain.rules import AlertRules, ThresholdRule
from grader_daemon.domain.setup_changes import SetupChange
from grader_daemon.pipeline.group_completion import completions
from grader_daemon.pipeline.saving import save_alert
from grader_daemon.reports.phrasing import alert_cause, alert_title
from grader_daemon.reports.safe_text import plain
from grader_daemon.storage.records import ChangeKind, Position
from grader_daemon.storage.sqlite.store import SqliteStore

_AT_ONCE = 2000
_SAMPLE = 2000
_FIRST_DAYS = timedelta(days=56)
"""Length of the past that is learned from at the first start."""
_LATE = timedelta(days=1)
"""Sessions that come later than that, while the watch looks, are of the past: they were imported."""
_NEXT_TO = timedelta(days=7)
"""A change in how agents are set up that is so near to the beginning of a drop is told with it."""
_EVER = datetime.min.replace(tzinfo=UTC)
_MOMENT = timedelta(microseconds=1)
_encode = msgspec.json.Encoder().encode


class DegradationWatch:
    """Opens and resolves alerts."""

    name = "degradation"

    def __init__(
        self,
        store: SqliteStore,
        rules: AlertRules,
        *,
        channels: Sequence[str],
        zone: tzinfo | None,
        settled_after: timedelta,
        is_settled: Callable[[], bool],
        changes: Callable[[datetime, datetime], Sequence[SetupChange]],
        on_news: Callable[[], None] = lambda: None,
    ) -> None:
        """`channels` are those that are told of alerts beside the log; `on_news` is called when there is something.

        `changes` returns what changed in how agents are set up from one moment to another.
        """
        self._store = store
        self._rules = rules
        self._channels = channels
        self._zone = zone
        self._settled_after = settled_after
        self._is_settled = is_settled
        self._changes = changes
        self._on_news = on_news
        self._log = structlog.get_logger()

    def run(self, now: datetime) -> bool:
        """Watch the sessions that ended since the last run, then look at the thresholds.

        Returns:
            whether there was anything new.
        """
        since = self._watched_from(now)
        if not self._is_settled():
            return False
        watched = self._watch_sessions(now, since=since)
        return self._check_thresholds(now, since=since) or watched

    def _watched_from(self, now: datetime) -> datetime:
        """Return when the watch began: now, if it did not yet or that lies in the future, by a wrong clock."""
        since, position = self._store.alerts.watched_from(), self._store.alerts.position()
        if position is not None and (since is None or since <= now):
            return since or _EVER
        with self._store.transaction():
            self._store.alerts.begin(position or Position(now - _FIRST_DAYS, ""), now=now)
        return now

    # -- the detectors -----------------------------------------------------------------------------------------------

    def _watch_sessions(self, now: datetime, *, since: datetime) -> bool:
        position = self._position(now)
        until = now - self._settled_after
        took_any = False
        while seen := self._store.alerts.unseen(position, until=until, limit=_AT_ONCE):
            position = Position(seen[-1].ended_at, seen[-1].session_id)
            self._take_up(seen, position, now, since=since)
            took_any = True
        if since < now - _LATE:
            self._pass_over_late(now)
        return took_any

    def _pass_over_late(self, now: datetime) -> None:
        """Move the position on with the clock where no sessions come; once in a day, because it is a write."""
        position = self._store.alerts.position()
        if position is not None and position.ended_at < now - 2 * _LATE:
            with self._store.transaction():
                self._store.alerts.advance(Position(now - _LATE, ""), ())

    def _position(self, now: datetime) -> Position:
        """Return where to read on; a position in the future was written under a clock that was wrong."""
        position = self._store.alerts.position()
        if position is not None and position.ended_at > now:
            position = self._store.alerts.last_watched(now)
        return position or Position(now - _FIRST_DAYS, "")

    def _take_up(self, seen: Sequence[Observation], position: Position, now: datetime, *, since: datetime) -> None:
        states = self._states(now)
        watched = watch(states, seen, since=since, rules=self._rules)
        mixed = {event.stream for event in watched.events if isinstance(event, Alarmed) and self._is_only_mix(event)}
        standing = {stream for stream, state in states.items() if state.alarm is not None}
        with self._store.transaction():
            changed = {stream: _encode(state) for stream, state in watched.states.items() if stream not in mixed}
            self._store.alerts.save_streams(changed, gone=watched.gone | mixed)
            self._store.alerts.advance(position, seen)
            events = [event for event in watched.events if event.stream not in mixed]
            settled = settle(events, self._store.alerts.open(), standing=standing, rules=self._rules, now=now)
            told = self._keep(map(self._named, map(self._explained, settled)), now)
        self._tell(told)

    def _states(self, now: datetime) -> dict[Stream, DetectorState]:
        """Return the detectors; those that cannot be read any more begin anew."""
        today = day_of(now, self._zone).toordinal()
        read = {
            stream: read_state(content, today=today, drops=len(rules_for(stream, self._rules).drops))
            for stream, content in self._store.alerts.streams().items()
        }
        return {stream: state for stream, state in read.items() if state is not None}

    def _is_only_mix(self, event: Alarmed) -> bool:
        """Return whether a stream fell because other agents do more of its sessions: it then begins anew, untold.

        What each agent does has streams of its own, which notice when one of them gets worse.
        """
        before, since = self._around(event)
        return is_only_mix(event, before=before, since=since)

    def _explained(self, settled: Settled) -> Alert:
        """Return the alert, with its cause if it is a new one."""
        event = settled.alarm
        if event is None:
            return settled.alert
        before, since = self._around(event)
        alert = explained(settled.alert, event, before=before, since=since, rules=self._rules)
        return msgspec.structs.replace(alert, setup_change=self._setup_change(event))

    def _named(self, alert: Alert) -> Alert:
        """Return the alert with the names of scheduled jobs, of which streams have but the keys."""
        if all(drop.stream.dimension is not Dimension.JOB or drop.called for drop in alert.drops):
            return alert
        names = {job.job: job.name for job in self._store.rollups.jobs()}
        drops = [
            msgspec.structs.replace(drop, called=names.get(drop.stream.name))
            if drop.stream.dimension is Dimension.JOB
            else drop
            for drop in alert.drops
        ]
        return msgspec.structs.replace(alert, drops=tuple(drops))

    def _setup_change(self, event: Alarmed) -> SetupChange | None:
        """Return what changed next to the beginning of a drop in how agents are set up."""
        began_at = event.alarm.began_at
        found = self._changes(began_at - _NEXT_TO, min(began_at + _NEXT_TO, event.at + _MOMENT))
        own = (change for change in found if change.is_of_files or change.scheduled == event.stream.is_scheduled)
        return min(own, key=lambda change: abs(change.at - began_at), default=None)

    def _around(self, event: Alarmed) -> tuple[list[Observation], list[Observation]]:
        """Return a sample of the sessions before a drop, and those from its beginning to the alarm."""
        began_at = event.alarm.began_at
        ended = partial(self._store.alerts.ended, limit=_SAMPLE, scheduled=event.stream.is_scheduled)
        before = ended(since=began_at - timedelta(days=self._rules.baseline_days), until=began_at)
        return before, ended(since=began_at, until=event.at + _MOMENT)

    # -- thresholds --------------------------------------------------------------------------------------------------

    def _check_thresholds(self, now: datetime, *, since: datetime) -> bool:
        rules, alerts = self._rules.thresholds, self._store.alerts.open()
        if not rules and not any(alert.kind is AlertKind.THRESHOLD for alert in alerts):
            return False
        with self._store.transaction():
            groups = [(rule, *group) for rule in rules for group in self._groups_of(rule, now, since=since)]
            changed = thresholds.compare(self._store.alerts.open(), groups, rules=rules, now=now)
            told = self._keep(changed, now)
        self._tell(told)
        return bool(changed)

    def _groups_of(self, rule: ThresholdRule, now: datetime, *, since: datetime) -> Iterable[tuple[str, Estimate]]:
        """Return the groups that a rule is about, all of its dimension unless it names one, with its metric."""
        last = last_days(rule.days, day_of(now, self._zone))
        span = Span(max(last.first, day_of(since, self._zone)), last.last)
        if rule.dimension is Dimension.OVERALL or rule.group is not None:
            key = (rule.dimension, rule.group or "")
            sums = {key: self._store.rollups.group(*key, span)}
        else:
            sums = self._store.rollups.groups(span, {rule.dimension})
        if rule.metric is Metric.COMPLETION_RATE:
            rates = completions(self._store, sums, span)
            return [(name, rates.get((dimension, name), Estimate())) for dimension, name in sums]
        return [(name, WATCHED[rule.metric](each)) for (_, name), each in sums.items()]

    # -- telling -----------------------------------------------------------------------------------------------------

    def _keep(self, alerts: Iterable[Alert], now: datetime) -> list[Alert]:
        """Write alerts that are new or changed; returns those that people are to be told of."""
        silenced = self._store.alerts.silenced(now)
        told = []
        for alert in alerts:
            kept, is_news = announced(alert, silenced)
            kept = save_alert(self._store, kept)
            if is_news:
                told.append(kept)
                self._put_out(kept, now)
        return told

    def _put_out(self, alert: Alert, now: datetime) -> None:
        event = "opened" if alert.resolved_at is None else "resolved"
        content = {
            "schema_version": SCHEMA_VERSION,
            "event": event,
            "title": plain(alert_title(alert)),
            "cause": alert_cause(alert),
            "command": f"grader-daemon alerts show {alert.number}",
            "alert": alert,
        }
        for channel in self._channels:
            self._store.outbox.put(
                kind=ChangeKind.ALERT,
                subject=str(alert.number),
                event=event,
                channel=channel,
                payload=_encode(content).decode(),
                now=now,
            )

    def _tell(self, alerts: Sequence[Alert]) -> None:
        if alerts:
            self._on_news()
        for alert in alerts:
            drop = alert.drops[0]
            facts = {
                "alert": alert.number,
                "kind": alert.kind,
                "severity": alert.level,
                "metric": drop.stream.metric,
                "dimension": drop.stream.dimension,
                "name": drop.stream.name,
                "before": drop.before.value,
                "since": drop.since.value,
                "began_at": alert.began_at,
                "title": plain(alert_title(alert)),
                "cause": alert_cause(alert),
                "command": f"grader-daemon alerts show {alert.number}",
            }
            if alert.resolved_at is None:
                self._log.warning("alert.opened", **facts)
            else:
                self._log.info("alert.resolved", level="notice", **facts)
