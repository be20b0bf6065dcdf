"""Format tokens and money: each sum with the sessions that it is known of, and never a 0 for what is unknown."""

from __future__ import annotations

from collections.abc import Iterable

from grader_daemon.domain.grade import BY_AGENT, Grade
from grader_daemon.domain.insight import Group, Spending
from grader_daemon.domain.text import count
from grader_daemon.reports.numbers import UNKNOWN

_KINDS = (
    ("input_tokens", "read"),
    ("cache_read_tokens", "from caches"),
    ("cache_write_tokens", "into caches"),
    ("output_tokens", "written"),
)
_CENT = 0.01
_UNITS = ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"))
_NO_CENTS_FROM = 1000


def usd_words(usd: float | None) -> str:
    """Return an amount: "$4.20", "$1,234"; what is more than nothing is never rounded to it."""
    if usd is None:
        return UNKNOWN
    if 0 < usd < _CENT:
        return "<$0.01"
    return f"${usd:,.0f}" if usd >= _NO_CENTS_FROM else f"${usd:.2f}"


def tokens_words(tokens: int | None) -> str:
    """Return a number of tokens to three digits: "950", "12.3 k", "1.2 M"."""
    if tokens is None:
        return UNKNOWN
    size, unit = next(((size, unit) for size, unit in _UNITS if tokens >= size), (1.0, ""))
    return f"{tokens / size:.1f} {unit}" if unit else str(tokens)


def used_words(counted: Spending | Grade) -> str | None:
    """Return how many tokens of each kind were used; None where none is known."""
    known = [(getattr(counted, field), words) for field, words in _KINDS]
    said = [f"{tokens_words(tokens)} {words}" for tokens, words in known if tokens is not None]
    return ", ".join(said) or None


def price_words(grade: Grade) -> str | None:
    """Return what one session cost and who says so: "$0.12 by genai-prices 0.2.3"; None where that is not known."""
    if grade.cost_usd is None:
        return None
    by = "the agent's own record" if grade.cost_by == BY_AGENT else grade.cost_by
    return f"{usd_words(grade.cost_usd)} by {by}"


def cost_words(spent: Spending) -> str:
    """Return what sessions cost, and of how many that is known: "$4.20 for 31 of 40 sessions"."""
    if spent.cost_usd is None:
        return f"unknown for all {count(spent.sessions, 'session')}"
    return f"{usd_words(spent.cost_usd)} for {_share(spent.priced, spent.sessions)}"


def spending_words(spent: Spending, *, days: int) -> tuple[str, ...]:
    """Return sentences, without their stops, on what sessions cost and used; nothing where nothing is known."""
    said = []
    if spent.cost_usd is not None:
        said.append(f"{cost_words(spent)}, {usd_words(spent.cost_usd / days)} a day")
        if spent.per_task_usd is not None:
            said.append(f"{usd_words(spent.per_task_usd)} for each of {count(spent.tasks, 'task')}, done or not")
        if spent.side_usd:
            said.append(f"{usd_words(spent.side_usd)} from {count(spent.side, 'sub-agent or scheduled session')}")
    if spent.metered:
        said.append(f"tokens of {_share(spent.metered, spent.sessions)}: {used_words(spent)}")
    return tuple(said)


def agents_words(groups: Iterable[Group]) -> str:
    """Return whose sessions are counted together, if those of several agents are: "claude-code 40, hermes 12"."""
    counted = sorted(((group.sessions, group.name) for group in groups if group.sessions), key=lambda each: -each[0])
    return ", ".join(f"{name} {sessions:,}" for sessions, name in counted) if len(counted) > 1 else ""


def _share(known: int, sessions: int) -> str:
    return f"all {count(sessions, 'session')}" if known == sessions else f"{known:,} of {count(sessions, 'session')}"
