"""Words for usage by day: amounts, shares and changes, and why something is not known, which is never a 0."""

from __future__ import annotations

from collections.abc import Mapping
from math import floor, log10
from types import MappingProxyType
from typing import Final, assert_never

from grader_daemon.domain.group_names import UNKNOWN as UNNAMED
from grader_daemon.domain.insight import Spending
from grader_daemon.domain.session import SessionKind
from grader_daemon.domain.text import count
from grader_daemon.domain.usage_by_day import (
    UsageByDay,
    UsageGroup,
    UsageMeasure,
    UsageSplit,
    amount,
    cache_share,
    change,
    known_of,
    share,
)
from grader_daemon.reports.money import tokens_words, usd_words
from grader_daemon.reports.numbers import MINUS, UNKNOWN

_KINDS: Final[Mapping[str, str]] = MappingProxyType(
    {
        SessionKind.MAIN: "yours",
        SessionKind.SUB_AGENT: "sub-agents",
        SessionKind.CRON: "scheduled",
        SessionKind.REVIEW: "reviews",
    }
)
_LEAST_SHARE: Final = 0.005
_CENTS: Final = 2
_TIMES_FROM: Final = 9.995
"""What grew so far and further is told in times."""


def group_words(name: str, split: UsageSplit) -> str:
    """Return the name of a group as people read it."""
    if split is UsageSplit.KIND:
        return _KINDS.get(name, name)
    return name.replace("_", " ") if split is UsageSplit.TASK_TYPE else name


def amount_words(value: float | None, measure: UsageMeasure) -> str:
    """Return an amount: "$4.20", "1.2 M", "40"; a dash where it is not known."""
    if value is None:
        return UNKNOWN
    match measure:
        case UsageMeasure.COST:
            return usd_words(value)
        case UsageMeasure.TOKENS:
            return tokens_words(round(value))
        case UsageMeasure.SESSIONS:
            return f"{value:,.0f}"
    assert_never(measure)


def scale_words(value: float, measure: UsageMeasure) -> str:
    """Return an amount on a scale, as short as it goes: "$0.005", "$20", "500 k"."""
    if measure is not UsageMeasure.COST:
        return amount_words(value, measure).replace(".0 ", " ")
    digits = 0 if value == round(value) else max(_CENTS, -floor(log10(value)))
    return f"${value:,.{digits}f}"


def share_words(part: float | None) -> str:
    """Return a part of a whole: "33 %"; what is not nothing is never rounded to it, nor to all."""
    if part is None:
        return UNKNOWN
    if 0 < part < _LEAST_SHARE:
        return "<1 %"
    return ">99 %" if 1 - _LEAST_SHARE < part < 1 else f"{100 * part:.0f} %"


def growth_words(part: float | None) -> str:
    """Return a change beside the span before: "+22 %", from ten times on the factor; a dash without one."""
    if part is None:
        return UNKNOWN
    if part >= _TIMES_FROM - 1:
        return f"\N{MULTIPLICATION SIGN} {part + 1:,.0f}"
    rounded = round(100 * part)
    return f"{'+' if rounded > 0 else MINUS if rounded else ''}{abs(rounded)} %"


def change_words(group: UsageGroup, measure: UsageMeasure) -> str:
    """Return the change of a group beside the span before; "new" where it had no session then."""
    if group.before is not None and not group.before.sessions:
        return "new"
    return growth_words(change(group.spending, group.before, measure))


def span_words(used: UsageByDay) -> str:
    """Return which days these are, and what they are compared with."""
    days = f"{used.first_day} to {used.last_day}" if used.days > 1 else f"{used.first_day}"
    if used.before is not None:
        return f"{days}, beside {_days_before(used)}"
    return f"{days}; no comparison: not all of {_days_before(used)} have sessions"


def known_words(spent: Spending, measure: UsageMeasure) -> str:
    """Return of how many sessions an amount is known: "known for 31 of 40 sessions (78 %)"."""
    known = known_of(spent, measure)
    if known == spent.sessions:
        return f"known for all {count(known, 'session')}"
    return f"known for {known:,} of {count(spent.sessions, 'session')} ({share_words(share(known, spent.sessions))})"


def before_words(used: UsageByDay, measure: UsageMeasure) -> str:
    """Return an amount of the span before, and the change since; nothing where nothing is compared."""
    if used.before is None:
        return ""
    span, before = _days_before(used), amount(used.before, measure)
    if before is None:
        return f"none known {span}"
    grown = change(used.spending, used.before, measure)
    how = known_words(used.before, measure) if grown is None else growth_words(grown)
    return f"{amount_words(before, measure)} {span} ({how})"


def kinds_words(used: UsageByDay) -> str:
    """Return how many sessions are of each kind: "300 yours, 80 scheduled"; nothing where all are a person's."""
    if set(used.kinds) <= {SessionKind.MAIN}:
        return ""
    return ", ".join(f"{each.sessions:,} {group_words(name, UsageSplit.KIND)}" for name, each in used.kinds.items())


def cache_words(spent: Spending) -> str:
    """Return the share of what was read that came from caches; nothing where no cache is known of."""
    part = cache_share(spent)
    return "" if part is None else f"{share_words(part)} of the input came from caches"


def failed_words(used: UsageByDay) -> str:
    """Return what was spent on sessions that failed, as a sentence; nothing where no cost is known."""
    failed, whole = used.failed, used.spending.cost_usd
    if whole is None:
        return ""
    if failed.cost_usd is None:
        return (
            "The cost of the failed sessions is unknown."
            if failed.sessions
            else ("No session is known to have failed.")
        )
    part = share(failed.cost_usd, whole)
    of = "" if part is None else f", {share_words(min(1.0, part))} of the cost"
    known = "" if failed.priced == failed.sessions else f" (known for {failed.priced:,})"
    return (
        f"{usd_words(failed.cost_usd)} went to {count(failed.sessions, 'session')}{known}"
        f" that {'was' if failed.sessions == 1 else 'were'} not done or ended badly{of}."
    )


def unknown_words(used: UsageByDay, measure: UsageMeasure) -> str:
    """Return why an amount is not known for the sessions of some agents; nothing where it is known for all of them."""
    if measure is UsageMeasure.SESSIONS:
        return "" if used.spending.sessions else "No session finished in these days."
    if not used.spending.sessions:
        return f"No {measure} known: no session finished in these days."
    why = [_why(name, spent) for name, spent in used.agents.items() if not known_of(spent, measure)]
    of = "" if known_of(used.spending, measure) == 0 else " for some sessions"
    return f"No {measure} known{of}: {'; '.join(why)}." if why else ""


def _why(agent: str, spent: Spending) -> str:
    named = "an unnamed agent" if agent == UNNAMED else agent
    return f"the price list lacks the models of {named}" if spent.metered else f"{named} does not record tokens"


def _days_before(used: UsageByDay) -> str:
    return f"the {count(used.days, 'day')} before" if used.days > 1 else "the day before"
