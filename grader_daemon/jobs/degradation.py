"""The watch on quality: every finished session goes through the detectors once, and what they find is told once.

A session is taken up when it has been quiet for as long as a session may be idle, so one that is resumed soon is seen
as it ended. How far the watch has read, its detectors, its alerts and what is to be told of them change in one
transaction.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from datetime import date, datetime, timedelta, tzinfo

import msgspec
import structlog

from grader_daemon.alerts import policy, thresholds
from grader_daemon.alerts.detector import DetectorState
from grader_daemon.alerts.watch import Alarmed, Event, watch
from grader_daemon.domain.alert import Alert, AlertKind, Observation, Stream
from grader_daemon.domain.calendar import day_of, last_days
from grader_daemon.domain.rollup import Dimension, Sums
from grader_daemon.domain.rules import AlertRules, ThresholdRule
from grader_daemon.reports.quoting import plain
from grader_daemon.reports.wording import alert_title
from grader_daemon.storage import Store
from grader_daemon.storage.alerts import Position

_AT_ONCE = 2000
_SAMPLE = 2000
_FIRST_DAYS = timedelta(days=56)
_REMEMBERED = timedelta(days=90)
_A_DAY = timedelta(days=1)
_MOMENT = timedelta(microseconds=1)
_decode_state = msgspec.json.Decoder(DetectorState).decode
_encode = msgspec.json.Encoder().encode


class DegradationWatch:
    """Opens and resolves alerts."""

    name = "degradation"

    def __init__(
        self,
        store: Store,
        rules: AlertRules,
        *,
        channels: Sequence[str],
        zone: tzinfo | None,
        settled_after: timedelta,
        is_settled: Callable[[], bool],
    ) -> None:
        """`channels` are those that are told of alerts beside the log."""
        self._store = store
        self._rules = rules
        self._channels = channels
        self._zone = zone
        self._settled_after = settled_after
        self._is_settled = is_settled
        self._log = structlog.get_logger()
        self._cleaned_on: date | None = None

    def run(self, now: datetime) -> bool:
        """Take up the sessions that ended since the last run, then look at the thresholds.

        Returns:
            whether there was anything new.
        """
        if not self._is_settled():
            return False
        watched = self._watch_sessions(now)
        return self._check_thresholds(now) or watched

    # -- the detectors -----------------------------------------------------------------------------------------------

    def _watch_sessions(self, now: datetime) -> bool:
        position = self._position(now)
        until = now - self._settled_after
        took_any = False
        while seen := self._store.alerts.unseen(position, until=until, limit=_AT_ONCE):
            position = Position(seen[-1].ended_at, seen[-1].session_id)
            self._take_up(seen, position, now)
            took_any = True
        return took_any

    def _position(self, now: datetime) -> Position:
        """Where to read on; one that lies in the future was written under a clock that was wrong."""
        position = self._store.alerts.position()
        if position is None:
            return Position(now - _FIRST_DAYS, "")
        return position if position.ended_at <= now else Position(now - _A_DAY, "")

    def _take_up(self, seen: Sequence[Observation], position: Position, now: datetime) -> None:
        states = self._states()
        outcome = watch(states, seen, rules=self._rules)
        standing = {stream for stream, state in states.items() if state.alarm is not None}
        with self._store.transaction():
            changed = {stream: _encode(state) for stream, state in outcome.states.items()}
            self._store.alerts.save_streams(changed, gone=outcome.gone)
            self._store.alerts.advance(position, seen)
            self._forget_seen(now)
            told = self._keep(_Settlement(self._store, self._rules, standing).settle(outcome.events), now)
        self._tell(told)

    def _states(self) -> dict[Stream, DetectorState]:
        """The detectors; one of another version, or for other drops than those of the rules, begins anew."""
        states = {}
        for stream, content in self._store.alerts.streams().items():
            try:
                state = _decode_state(content)
            except msgspec.MsgspecError:
                continue
            if state.baseline is None or len(state.baseline.stakes) == len(self._rules.drops):
                states[stream] = state
        return states

    def _forget_seen(self, now: datetime) -> None:
        today = now.date()
        if self._cleaned_on != today:
            self._cleaned_on = today
            self._store.alerts.forget_seen(now - _REMEMBERED)

    # -- thresholds --------------------------------------------------------------------------------------------------

    def _check_thresholds(self, now: datetime) -> bool:
        standing = {
            (alert.rule, alert.drops[0].stream): alert
            for alert in self._store.alerts.open()
            if alert.kind is AlertKind.THRESHOLD
        }
        if not standing and not self._rules.thresholds:
            return False
        changed: list[Alert] = []
        for rule in self._rules.thresholds:
            for group, sums in self._groups_of(rule, now):
                alert = standing.pop((rule.name, Stream(rule.metric, rule.dimension, group)), None)
                found = thresholds.found_in(sums, rule.metric)
                if alert is None and thresholds.opens(rule, found):
                    changed.append(thresholds.threshold_alert(rule, group, found=found, now=now))
                elif alert is not None and thresholds.clears(rule, found):
                    changed.append(msgspec.structs.replace(alert, resolved_at=now))
        names = {rule.name for rule in self._rules.thresholds}
        changed += [
            msgspec.structs.replace(alert, resolved_at=now)
            for (rule_name, _), alert in standing.items()
            if rule_name not in names
        ]
        with self._store.transaction():
            told = self._keep(changed, now)
        self._tell(told)
        return bool(changed)

    def _groups_of(self, rule: ThresholdRule, now: datetime) -> Iterable[tuple[str, Sums]]:
        """Give the groups that a rule is about: all of its dimension unless it names one."""
        span = last_days(rule.days, day_of(now, self._zone))
        if rule.dimension is Dimension.OVERALL or rule.group is not None:
            name = rule.group or ""
            return [(name, self._store.rollups.group(rule.dimension, name, span))]
        found = self._store.rollups.groups(span)
        return [(name, sums) for (dimension, name), sums in found.items() if dimension is rule.dimension]

    # -- telling -----------------------------------------------------------------------------------------------------

    def _keep(self, alerts: Iterable[Alert], now: datetime) -> list[Alert]:
        """Write alerts that are new or changed; gives those that people are to be told of."""
        silenced = self._store.alerts.silenced(now)
        told = []
        for alert in alerts:
            kept = alert
            if alert.number is None:
                kept = self._store.alerts.add(alert)
            else:
                self._store.alerts.replace(alert)
            is_news = (alert.number is None) != (alert.resolved_at is not None)
            if is_news and any(drop.stream not in silenced for drop in alert.drops):
                told.append(kept)
                self._put_out(kept, now)
        return told

    def _put_out(self, alert: Alert, now: datetime) -> None:
        event = "opened" if alert.resolved_at is None else "resolved"
        content = {"schema_version": 1, "event": event, "title": plain(alert_title(alert)), "alert": alert}
        for channel in self._channels:
            self._store.outbox.put(
                alert=alert.number or 0, event=event, channel=channel, payload=_encode(content).decode(), now=now
            )

    def _tell(self, alerts: Iterable[Alert]) -> None:
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
            }
            if alert.resolved_at is None:
                self._log.warning("alert.opened", **facts)
            else:
                self._log.info("alert.resolved", level="notice", **facts)


class _Settlement:
    """Turns what the detectors found into alerts; `standing` are the streams whose alarm stands."""

    def __init__(self, store: Store, rules: AlertRules, standing: set[Stream]) -> None:
        self._store = store
        self._rules = rules
        self._standing = standing
        self._open = [alert for alert in store.alerts.open() if alert.kind is AlertKind.DEGRADATION]
        self._changed: list[Alert] = []

    def settle(self, events: Iterable[Event]) -> list[Alert]:
        """Give the alerts that are new or changed, the oldest first."""
        for event in events:
            if isinstance(event, Alarmed):
                self._standing.add(event.stream)
                self._raise(event)
            else:
                self._standing.discard(event.stream)
                self._end(event.stream, event.at)
        return self._changed

    def _raise(self, event: Alarmed) -> None:
        alert = policy.home(event, self._open)
        if alert is not None:
            self._put(alert, policy.joined(alert, event, rules=self._rules))
            return
        began_at = event.alarm.began_at
        before = self._store.alerts.ended(
            since=began_at - timedelta(days=self._rules.baseline_days), until=began_at, limit=_SAMPLE
        )
        since = self._store.alerts.ended(since=began_at, until=event.at + _MOMENT, limit=_SAMPLE)
        opened = policy.opened(event, before=before, since=since, rules=self._rules)
        self._open.append(opened)
        self._changed.append(opened)

    def _end(self, stream: Stream, at: datetime) -> None:
        for alert in list(self._open):
            if any(drop.stream == stream for drop in alert.drops):
                resolved = policy.resolved(alert, standing=self._standing, at=at)
                if resolved is not None:
                    self._put(alert, resolved)
                    self._open.remove(resolved)

    def _put(self, old: Alert, new: Alert) -> None:
        self._open[self._open.index(old)] = new
        if old in self._changed:
            self._changed[self._changed.index(old)] = new
        else:
            self._changed.append(new)
