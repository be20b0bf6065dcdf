"""The last days at a glance, as text for people: what the original program printed."""

from __future__ import annotations

from collections.abc import Iterator

from grader_daemon.domain.calibration import Trust
from grader_daemon.domain.insight import Group, Patterns
from grader_daemon.domain.rollup import Dimension
from grader_daemon.domain.summary import Summary
from grader_daemon.domain.text import clean, count
from grader_daemon.domain.verdict import VerdictCounts
from grader_daemon.reports.money import agents_words, spending_words
from grader_daemon.reports.numbers import EFFICIENCY, QUALITY, RECOVERY, estimate_words, scheduled_words
from grader_daemon.reports.verdicts import grader_name, rate_words, shares_words, trust_words


def summary_text(summary: Summary, patterns: Patterns, trust: Trust, *, days: float) -> str:
    """Return counts, rates and means of the last days, a line each."""
    span = "day" if days == 1 else f"{days:g} days"
    others = f"{summary.open_sessions} open, {summary.unanswered} without an answer or a tool call"
    scheduled = scheduled_words(summary.scheduled)
    lines = [f"Sessions of the last {span}: {summary.sessions} finished{scheduled}, {others}"]
    if summary.sessions:
        lines += _figures(summary, patterns.overall)
        lines.append(f"  trust             verdicts by the {grader_name(trust.by)}, {trust_words(trust)}")
    lines += [f"  {name:<17} {words}" for name, words in _money(summary, patterns)]
    for title, counts in (("tools", patterns.tool_errors), ("errors", patterns.error_types)):
        most = ", ".join(f"{clean(name)} {count}" for name, count in list(counts.items())[:3])
        if most:
            lines.append(f"  {'failing ' + title:<17} {most}")
    for task_type, score in patterns.task_scores.items():
        behind = count(patterns.task_sessions[task_type], "session")
        lines.append(f"  {clean(task_type):<17} {score:.2f} of 5 ({behind})")
    return "\n".join(lines)


def _money(summary: Summary, patterns: Patterns) -> Iterator[tuple[str, str]]:
    agents = agents_words(patterns.groups[Dimension.AGENT])
    if agents:
        yield "agents", clean(agents)
    if spent := spending_words(summary.spending, days=patterns.days):
        yield "spent", "; ".join(spent)


def _figures(summary: Summary, whole: Group) -> Iterator[str]:
    """Yield the rates and means with their intervals, a line each."""
    counts = VerdictCounts(summary.done, summary.not_done, summary.unsure, summary.no_answer)
    yield f"  verdicts          {shares_words(counts)}"
    yield f"  completion rate   {rate_words(summary.checked)}"
    yield f"  tool efficiency   {estimate_words(whole.efficiency.now, EFFICIENCY)}"
    yield f"  response quality  {estimate_words(whole.quality.now, QUALITY)}"
    share = f"{summary.recovered} of {summary.with_errors}: " if summary.with_errors else ""
    yield f"  errors recovered  {share}{estimate_words(whole.recovery.now, RECOVERY)}"
