"""The watch on quality: every finished session goes through the detectors once, and what they find is told once.

A session is taken up when it has been quiet for as long as a session may be idle, so one that is resumed soon is seen
as it ended. What ended before the daemon's first start is history: the detectors learn from it what is normal, and no
alert opens for it; nor for what is imported long after it ended. How far the watch has read, its detectors, its alerts
and what is to be told of them change in one transaction.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime, timedelta, tzinfo

import msgspec
import structlog

from grader_daemon.alerts import policy, thresholds
from grader_daemon.alerts.detector import DetectorState
from grader_daemon.alerts.watch import Alarmed, Event, Lost, watch
from grader_daemon.domain.alert import Alert, AlertKind, Observation, Stream
from grader_daemon.domain.calendar import Span, day_of, last_days
from grader_daemon.domain.rollup import Dimension, Sums
from grader_daemon.domain.rules import AlertRules, ThresholdRule
from grader_daemon.domain.schema import SCHEMA_VERSION
from grader_daemon.reports.phrasing import alert_cause, alert_title
from grader_daemon.reports.safe_text import plain
from grader_daemon.storage.records import Position
from grader_daemon.storage.sqlite.store import Store

_AT_ONCE = 2000
_SAMPLE = 2000
_FIRST_DAYS = timedelta(days=56)
"""So much of the past is learned from at the first start."""
_LATE = timedelta(days=1)
"""Sessions that come later than that, while the watch looks, are of the past: they were imported."""
_EVER = datetime.min.replace(tzinfo=UTC)
_MOMENT = timedelta(microseconds=1)
_LOST = "It had no sessions for so long that it is watched no more; whether it is back is not known."
_BEGUN_ANEW = "Its detectors began anew; whether it is back is not known."
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
        on_news: Callable[[], None] = lambda: None,
    ) -> None:
        """`channels` are those that are told of alerts beside the log; `on_news` is called when there is something."""
        self._store = store
        self._rules = rules
        self._channels = channels
        self._zone = zone
        self._settled_after = settled_after
        self._is_settled = is_settled
        self._on_news = on_news
        self._log = structlog.get_logger()

    def run(self, now: datetime) -> bool:
        """Take up the sessions that ended since the last run, then look at the thresholds.

        Returns:
            whether there was anything new.
        """
        since = self._watched_from(now)
        if not self._is_settled():
            return False
        watched = self._watch_sessions(now, since=since)
        return self._check_thresholds(now, since=since) or watched

    def _watched_from(self, now: datetime) -> datetime:
        """When the watch began: now, if it did not yet or that lies in the future, by a clock that was wrong."""
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
        """Let the position follow the clock where no sessions come; once in a day, because it is a write."""
        position = self._store.alerts.position()
        if position is not None and position.ended_at < now - 2 * _LATE:
            with self._store.transaction():
                self._store.alerts.advance(Position(now - _LATE, ""), ())

    def _position(self, now: datetime) -> Position:
        """Where to read on; one that lies in the future was written under a clock that was wrong."""
        position = self._store.alerts.position()
        if position is not None and position.ended_at > now:
            position = self._store.alerts.last_watched(now)
        return position or Position(now - _FIRST_DAYS, "")

    def _take_up(self, seen: Sequence[Observation], position: Position, now: datetime, *, since: datetime) -> None:
        states = self._states(now)
        outcome = watch(states, seen, since=since, rules=self._rules)
        standing = {stream for stream, state in states.items() if state.alarm is not None}
        with self._store.transaction():
            changed = {stream: _encode(state) for stream, state in outcome.states.items()}
            self._store.alerts.save_streams(changed, gone=outcome.gone)
            self._store.alerts.advance(position, seen)
            settlement = _Settlement(self._store, self._rules, standing)
            told = self._keep(settlement.settle(outcome.events, now=now), now)
        self._tell(told)

    def _states(self, now: datetime) -> dict[Stream, DetectorState]:
        """The detectors; one of another version, or for other drops than the rules have, begins anew."""
        today = day_of(now, self._zone).toordinal()
        states = {}
        for stream, content in self._store.alerts.streams().items():
            try:
                state = _decode_state(content)
            except msgspec.MsgspecError:
                continue
            if _fits(state, drops=len(self._rules.drops)):
                states[stream] = state if state.day <= today else _brought_back(state, today)
        return states

    # -- thresholds --------------------------------------------------------------------------------------------------

    def _check_thresholds(self, now: datetime, *, since: datetime) -> bool:
        if not self._rules.thresholds and not any(map(_is_threshold, self._store.alerts.open())):
            return False
        with self._store.transaction():
            changed = self._compare_thresholds(now, since=since)
            told = self._keep(changed, now)
        self._tell(told)
        return bool(changed)

    def _compare_thresholds(self, now: datetime, *, since: datetime) -> list[Alert]:
        """Give the alerts that open or end now. One whose rule is gone, or is about something else, ends."""
        standing = {
            (alert.rule, alert.drops[0].stream): alert for alert in self._store.alerts.open() if _is_threshold(alert)
        }
        changed = [
            msgspec.structs.replace(alert, resolved_at=now)
            for (name, stream), alert in standing.items()
            if not any(rule.name == name and _is_about(rule, stream) for rule in self._rules.thresholds)
        ]
        for rule in self._rules.thresholds:
            for group, sums in self._groups_of(rule, now, since=since):
                known = standing.get((rule.name, Stream(rule.metric, rule.dimension, group)))
                found = thresholds.found_in(sums, rule.metric)
                if known is None and thresholds.opens(rule, found):
                    changed.append(thresholds.threshold_alert(rule, group, found=found, now=now))
                elif known is not None and thresholds.clears(rule, found):
                    changed.append(msgspec.structs.replace(known, resolved_at=now))
        return changed

    def _groups_of(self, rule: ThresholdRule, now: datetime, *, since: datetime) -> Iterable[tuple[str, Sums]]:
        """Give the groups that a rule is about: all of its dimension unless it names one."""
        last = last_days(rule.days, day_of(now, self._zone))
        span = Span(max(last.first, day_of(since, self._zone)), last.last)
        if rule.dimension is Dimension.OVERALL or rule.group is not None:
            name = rule.group or ""
            return [(name, self._store.rollups.group(rule.dimension, name, span))]
        found = self._store.rollups.groups(span)
        return [(name, sums) for (dimension, name), sums in found.items() if dimension is rule.dimension]

    # -- telling -----------------------------------------------------------------------------------------------------

    def _keep(self, alerts: Iterable[Alert], now: datetime) -> list[Alert]:
        """Write alerts that are new or changed; gives those that people are to be told of.

        An alert is told when it opens, and when it resolves if its opening was told. While all its streams are silenced
        it is neither; the first that joins it and is not silenced brings it out.
        """
        silenced = self._store.alerts.silenced(now)
        told = []
        for alert in alerts:
            is_silent = policy.silent_until(alert, silenced) is not None
            is_news = not is_silent and alert.told == (alert.resolved_at is not None)
            kept = msgspec.structs.replace(alert, told=alert.told or is_news)
            if kept.number is None:
                kept = self._store.alerts.add(kept)
            else:
                self._store.alerts.replace(kept)
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
                alert=alert.number or 0, event=event, channel=channel, payload=_encode(content).decode(), now=now
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


def _is_threshold(alert: Alert) -> bool:
    return alert.kind is AlertKind.THRESHOLD


def _is_about(rule: ThresholdRule, stream: Stream) -> bool:
    return (rule.metric, rule.dimension) == (stream.metric, stream.dimension) and rule.group in {None, stream.name}


def _fits(state: DetectorState, *, drops: int) -> bool:
    """Does a state that was kept fit itself, and the rules?"""
    if state.baseline is None:
        return True
    return {len(state.baseline.stakes), len(state.evidence), len(state.climbs), len(state.starts)} == {drops}


def _brought_back(state: DetectorState, today: int) -> DetectorState:
    """Give the state of a detector whose last day was one of a clock that was ahead, as if that had been today."""
    baseline = state.baseline
    if baseline is not None:
        baseline = msgspec.structs.replace(baseline, made_on=min(baseline.made_on, today))
    return msgspec.structs.replace(
        state,
        day=today,
        began_day=min(state.began_day, today),
        days=tuple(day for day in state.days if day.number <= today),
        baseline=baseline,
    )


class _Settlement:
    """Turns what the detectors found into alerts; `standing` are the streams whose alarm stands."""

    def __init__(self, store: Store, rules: AlertRules, standing: set[Stream]) -> None:
        self._store = store
        self._rules = rules
        self._standing = standing
        self._open = [alert for alert in store.alerts.open() if not _is_threshold(alert)]
        self._changed: list[Alert] = []

    def settle(self, events: Iterable[Event], *, now: datetime) -> list[Alert]:
        """Give the alerts that are new or changed; one whose detectors all began anew ends `now`."""
        for event in events:
            if isinstance(event, Alarmed):
                self._standing.add(event.stream)
                self._raise(event)
            else:
                self._standing.discard(event.stream)
                self._end(event.stream, event.at, note=_LOST if isinstance(event, Lost) else None)
        for alert in list(self._open):
            self._end(alert.drops[0].stream, now, note=_BEGUN_ANEW)
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

    def _end(self, stream: Stream, at: datetime, *, note: str | None) -> None:
        """Resolve the alerts that show in a stream and in no other that stands; `note` says what is not known."""
        for alert in list(self._open):
            if any(drop.stream == stream for drop in alert.drops):
                resolved = policy.resolved(alert, standing=self._standing, at=at)
                if resolved is not None:
                    resolved = msgspec.structs.replace(resolved, note=resolved.note or note)
                    self._put(alert, resolved)
                    self._open.remove(resolved)

    def _put(self, old: Alert, new: Alert) -> None:
        self._open[self._open.index(old)] = new
        if old in self._changed:
            self._changed[self._changed.index(old)] = new
        else:
            self._changed.append(new)
