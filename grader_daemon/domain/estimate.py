"""Rates and means with their 95 % intervals, from sums over sessions.

Sessions are the independent units, not tool calls: one bad session can fail twenty calls. Sources: Wilson, JASA 22
(1927), for proportions; Korn and Graubard, Survey Methodology 24 (1998), for the effective sample size of clustered
ones; Yan and Su, Statistics in Biopharmaceutical Research 2 (2010), for those of strata; Zou and Donner, Statistics in
Medicine 27 (2008), for differences; Hill, CACM 13 (1970), for quantiles of Student's t.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

import msgspec

_Z = 1.959963984540054
"""The 97.5 % quantile of the normal distribution."""
_T_TERMS = (
    _Z,
    (_Z**3 + _Z) / 4,
    (5 * _Z**5 + 16 * _Z**3 + 3 * _Z) / 96,
    (3 * _Z**7 + 19 * _Z**5 + 17 * _Z**3 - 15 * _Z) / 384,
    (79 * _Z**9 + 776 * _Z**7 + 1482 * _Z**5 - 1920 * _Z**3 - 945 * _Z) / 92160,
)
"""Terms of the quantile of Student's t, one for each power of 1 / degrees of freedom."""


class Estimate(msgspec.Struct, frozen=True, kw_only=True):
    """A number with its 95 % range, and the size of its sample.

    `value`, `low` and `high` are None when the sample is too small to say; `sample` counts sessions.
    """

    value: float | None = None
    low: float | None = None
    high: float | None = None
    sample: int = 0


class Figure(msgspec.Struct, frozen=True, kw_only=True):
    """A number now and in the previous span, and the change between them with its range (`sample` is the smaller)."""

    now: Estimate
    before: Estimate
    change: Estimate


NO_FIGURE: Final = Figure(now=Estimate(), before=Estimate(), change=Estimate())
"""A number that nobody knows, as in documents of earlier versions."""


def proportion(part: int, whole: int, *, fewest: int = 1) -> Estimate:
    """Estimate the rate `part / whole` of sessions, 0 to 1; no value when `whole` is below `fewest`."""
    if whole < max(fewest, 1):
        return Estimate(sample=whole)
    low, high = _wilson(part / whole, whole)
    return Estimate(value=part / whole, low=low, high=high, sample=whole)


def mean(total: float, squares: float, sample: int, *, lowest: float, highest: float, fewest: int = 1) -> Estimate:
    """Estimate the mean of values between `lowest` and `highest`, from their sum and their sum of squares.

    One value alone has no interval but the whole range. The spread is that of the values and of one more that lies a
    quarter of the range from their mean: a few equal values are no certainty.
    """
    if sample < max(fewest, 1):
        return Estimate(sample=sample)
    value = total / sample
    if sample == 1:
        return Estimate(value=value, low=lowest, high=highest, sample=1)
    variance = (max(0.0, squares - total * value) + ((highest - lowest) / 4) ** 2) / sample
    margin = _t_quantile(sample - 1) * math.sqrt(variance / sample)
    return Estimate(value=value, low=max(lowest, value - margin), high=min(highest, value + margin), sample=sample)


def rate_per_call(
    failures: int,
    calls: int,
    *,
    failures_squares: int,
    calls_squares: int,
    calls_failures: int,
    sessions: int,
    fewest: int = 1,
) -> Estimate:
    """Estimate the rate `failures / calls`, 0 to 1, whose calls come in clusters, the sessions.

    The squares and products are summed per session; without a call there is no sample. The interval is Wilson's at the
    effective number of calls, adjusted by Student's t for few clusters. Where nothing or everything failed, or one
    session made nearly all calls, nothing shows how alike the calls of a session are: there each of the `clusters`
    (Kish's number: sessions without calls are none, small ones count for less) is worth one call.
    """
    if sessions < max(fewest, 1) or calls <= 0:
        return Estimate(sample=sessions if calls > 0 else 0)
    rate = min(1.0, failures / calls)
    clusters = calls * calls / calls_squares
    spread = failures_squares - 2 * rate * calls_failures + rate * rate * calls_squares
    effective = clusters
    if clusters > 1 and 0 < rate < 1 and spread > 0:
        variance = spread * clusters / (clusters - 1) / (calls * calls)
        effective = min(calls, rate * (1 - rate) / variance)
    few = _Z / _t_quantile(max(1, round(clusters) - 1))
    low, high = _wilson(rate, effective * few * few)
    return Estimate(value=rate, low=low, high=high, sample=sessions)


def standardised(strata: Sequence[tuple[float, float, int]]) -> Estimate:
    """Estimate the rate over strata with given weights; `sample` counts the sessions of all.

    `strata` are weights, which sum to 1, each with the sum of the probabilities of its sessions, 0 to 1, and their
    number, above 0. What they stand for happens or not, so a session varies as a coin does, however little its
    probability says of it. The interval is Wilson's at the effective number of sessions, adjusted by Student's t with
    Satterthwaite's degrees of freedom. Each stratum varies as if it had one more session that is like all: a few equal
    ones are no certainty. Where all sessions are equal, their effective number is Kish's for the weights.
    """
    sample = sum(number for _, _, number in strata)
    of_all = math.fsum(total for _, total, _ in strata) / sample
    rate = min(1.0, math.fsum(weight * total / number for weight, total, number in strata))
    parts = [
        (weight**2 * (_coin(total / number) + _coin(of_all) / number) / number, number)
        for weight, total, number in strata
    ]
    variance = math.fsum(part for part, _ in parts)
    effective = 1 / math.fsum(weight**2 / number for weight, _, number in strata)
    if variance > 0 and 0 < rate < 1:
        freedom = variance**2 / math.fsum(part**2 / number for part, number in parts)
        few = _Z / _t_quantile(max(1, round(freedom)))
        effective = rate * (1 - rate) / variance * few * few
    low, high = _wilson(rate, effective)
    return Estimate(value=rate, low=low, high=high, sample=sample)


def figure(now: Estimate, before: Estimate) -> Figure:
    """Compare a number with the one before it."""
    sample = min(now.sample, before.sample)
    if now.value is None or now.low is None or now.high is None:
        return Figure(now=now, before=before, change=Estimate(sample=sample))
    if before.value is None or before.low is None or before.high is None:
        return Figure(now=now, before=before, change=Estimate(sample=sample))
    value = now.value - before.value
    change = Estimate(
        value=value,
        low=value - math.hypot(now.value - now.low, before.high - before.value),
        high=value + math.hypot(now.high - now.value, before.value - before.low),
        sample=sample,
    )
    return Figure(now=now, before=before, change=change)


def combined_change(strata: Sequence[tuple[float, Estimate]]) -> Estimate:
    """Estimate the mean of changes in strata with given weights, 0 and more; no value where no stratum has one.

    The interval is that of a linear combination: the squared distances of its parts from their ends add up.
    """
    known = [
        (weight, change.value, change.low, change.high)
        for weight, change in strata
        if change.value is not None and change.low is not None and change.high is not None
    ]
    whole = math.fsum(weight for weight, *_ in known)
    if not whole:
        return Estimate()
    value = math.fsum(weight * change for weight, change, _, _ in known) / whole
    below = math.hypot(*(weight * (change - low) for weight, change, low, _ in known)) / whole
    above = math.hypot(*(weight * (high - change) for weight, change, _, high in known)) / whole
    sample = sum(change.sample for _, change in strata)
    return Estimate(value=value, low=value - below, high=value + above, sample=sample)


def effective_proportion(rate: float, sample: float) -> tuple[float, float]:
    """Return the 95 % interval of a rate that is as sure as one of `sample` independent sessions, above 0."""
    return _wilson(rate, sample)


def _wilson(rate: float, sample: float) -> tuple[float, float]:
    square = _Z * _Z
    middle = (rate + square / (2 * sample)) / (1 + square / sample)
    margin = _Z / (1 + square / sample) * math.sqrt(rate * (1 - rate) / sample + square / (4 * sample * sample))
    return max(0.0, min(rate, middle - margin)), min(1.0, max(rate, middle + margin))


def _coin(rate: float) -> float:
    return rate * (1 - rate)


def _t_quantile(freedom: int) -> float:
    """Return the 97.5 % quantile of Student's t: exact for 1 and 2 degrees of freedom, else within 0.004."""
    if freedom == 1:
        return 12.706204736432095
    if freedom == 2:  # noqa: PLR2004  it has a closed form
        return 4.302652729911275
    return math.fsum(term / float(freedom) ** power for power, term in enumerate(_T_TERMS))
