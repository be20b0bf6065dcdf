"""Families of metrics as text: the classic format of Prometheus, and OpenMetrics 1.0, which has exemplars.

The textfile collector reads only the classic format. Both are told here and not by a library, because that is all of
one that would be used.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from enum import StrEnum
from typing import Final

import msgspec

PROMETHEUS_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"
OPENMETRICS_TYPE: Final = "application/openmetrics-text; version=1.0.0; charset=utf-8"

_LONGEST_EXEMPLAR: Final = 128
"""Characters of the names and values of an exemplar's labels together (OpenMetrics 1.0)."""
_ESCAPES: Final = str.maketrans({"\\": r"\\", '"': r"\"", "\n": r"\n"})


class Kind(StrEnum):
    """Kind of a family. Only what never falls is a counter or a histogram."""

    GAUGE = "gauge"
    COUNTER = "counter"
    HISTOGRAM = "histogram"
    INFO = "info"


class Exemplar(msgspec.Struct, frozen=True):
    """One of what a sample counts."""

    labels: Mapping[str, str]
    value: float
    at: datetime


class Sample(msgspec.Struct, frozen=True):
    """One number of a family; `suffix` stands behind its name."""

    value: float
    labels: Mapping[str, str] = {}
    suffix: str = ""
    exemplar: Exemplar | None = None


class Family(msgspec.Struct, frozen=True, kw_only=True):
    """Samples of one name. `help` is one line without a backslash."""

    name: str
    kind: Kind = Kind.GAUGE
    help: str
    samples: tuple[Sample, ...]


def prometheus_text(families: Iterable[Family]) -> str:
    """Return the classic format, without exemplars."""
    return "".join(f"{line}\n" for family in families for line in _classic(family))


def openmetrics_text(families: Iterable[Family]) -> str:
    """Return OpenMetrics, with exemplars."""
    lines = [line for family in families for line in _open(family)]
    return "".join(f"{line}\n" for line in (*lines, "# EOF"))


def wants_openmetrics(accept: str) -> bool:
    """Return whether a header ``Accept`` prefers OpenMetrics to the classic format."""
    wishes = [_wish(part) for part in accept.split(",")]
    weights = {
        kind: max((weight for name, weight in wishes if name == kind), default=0.0)
        for kind in ("application/openmetrics-text", "text/plain")
    }
    return weights["application/openmetrics-text"] > weights["text/plain"]


def _wish(part: str) -> tuple[str, float]:
    """Return a kind of content and its weight (RFC 9110, 12.4.2)."""
    name, *parameters = (word.strip().lower() for word in part.split(";"))
    given = dict(parameter.partition("=")[::2] for parameter in parameters)
    try:
        return name, float(given.get("q", "1"))
    except ValueError:
        return name, 0.0


def _classic(family: Family) -> Iterator[str]:
    ending = {Kind.COUNTER: "_total", Kind.INFO: "_info"}.get(family.kind, "")
    kind = Kind.GAUGE if family.kind is Kind.INFO else family.kind
    yield f"# HELP {family.name}{ending} {family.help}"
    yield f"# TYPE {family.name}{ending} {kind}"
    for sample in family.samples:
        yield _line(family, sample)


def _open(family: Family) -> Iterator[str]:
    yield f"# TYPE {family.name} {family.kind}"
    yield f"# HELP {family.name} {family.help}"
    for sample in family.samples:
        yield _line(family, sample) + _exemplar(sample.exemplar)


def _line(family: Family, sample: Sample) -> str:
    labels = _labels(sample.labels) if sample.labels else ""
    return f"{family.name}{sample.suffix}{labels} {_number(sample.value)}"


def _exemplar(exemplar: Exemplar | None) -> str:
    if exemplar is None or sum(len(name) + len(value) for name, value in exemplar.labels.items()) > _LONGEST_EXEMPLAR:
        return ""
    return f" # {_labels(exemplar.labels)} {_number(exemplar.value)} {exemplar.at.timestamp():.3f}"


def _labels(labels: Mapping[str, str]) -> str:
    return "{" + ",".join(f'{name}="{value.translate(_ESCAPES)}"' for name, value in labels.items()) + "}"


def _number(value: float) -> str:
    return str(value) if isinstance(value, int) else repr(float(value))
