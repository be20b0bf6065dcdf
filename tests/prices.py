"""Take the price lists over from the package `genai-prices` that is installed: ``python -m tests.prices``.

For a later version set its number in `pyproject.toml` and `.ci/constraints.txt`, and install it.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from datetime import UTC, date, datetime, time
from decimal import Decimal
from importlib.metadata import distribution
from pathlib import Path

import msgspec
from genai_prices import Usage, types
from genai_prices.data import providers

from grader_daemon.prices.lists import PER, Lists, Match, Model, Rates, lists

FILE = Path(__file__).parent.parent / "grader_daemon" / "prices" / "lists.json"
MAKERS = ("anthropic", "aws", "google", "openai", "x-ai")
_WORDS: dict[type, tuple[str, str]] = {
    types.ClauseEquals: ("equals", "equals"),
    types.ClauseStartsWith: ("starts", "starts_with"),
    types.ClauseEndsWith: ("ends", "ends_with"),
    types.ClauseContains: ("contains", "contains"),
    types.ClauseRegex: ("patterns", "regex"),
}
"""What a clause is called here, and where it has its text there."""


def taken_over(taken: date) -> Lists:
    """Return the lists of the package that is installed."""
    package = distribution("genai-prices")
    licence = next(path for path in package.files or () if path.name == "LICENSE")
    by_id = {each.id: each for each in providers}
    return Lists(
        name=f"genai-prices {package.version}",
        taken=taken,
        licence=licence.read_text("utf-8"),
        makers={maker: tuple(_model(each, by_id[maker]) for each in by_id[maker].models) for maker in MAKERS},
    )


def written(held: Lists) -> bytes:
    """Return the lists as the file has them."""
    return msgspec.json.format(msgspec.json.encode(held, order="deterministic"), indent=1) + b"\n"


def main() -> None:
    """Write the lists if they are others than those that are held."""
    today = datetime.now(UTC).date()  # noqa: TID251  the day on which a person does this
    if not FILE.exists() or written(taken_over(lists().taken)) != FILE.read_bytes():
        FILE.write_bytes(written(taken_over(today)))
        sys.stdout.write(f"{FILE.name} is written.\n")


def _model(model: types.ModelInfo, provider: types.Provider) -> Model:
    found = [_rates(model, provider, day) for day in (*sorted(_starts(model), reverse=True), date.min)]
    assert None not in found or not any(found), f"{model.id} had a price at times"
    return Model(match=_match(model.match), rates=tuple(each for each in found if each is not None))


def _match(clause: types.MatchLogic) -> Match:
    words: dict[str, list[str]] = {}
    every: tuple[Match, ...] = ()
    for each in _alternatives(clause):
        if isinstance(each, types.ClauseAnd):
            assert not every, "of two such clauses one would be lost"
            every = tuple(map(_match, each.and_))
        else:
            word, theirs = _WORDS[type(each)]
            text: str = getattr(each, theirs)
            words.setdefault(word, []).append(text if word == "patterns" else text.lower())
    return msgspec.convert({**words, "every": every}, Match, from_attributes=True)


def _alternatives(clause: types.MatchLogic) -> Iterator[types.MatchLogic]:
    if not isinstance(clause, types.ClauseOr):
        yield clause
        return
    for each in clause.or_:
        yield from _alternatives(each)


def _starts(model: types.ModelInfo) -> Iterator[date]:
    """Yield the days on which a price changed."""
    for each in model.prices if isinstance(model.prices, list) else ():
        if each.constraint is not None:
            assert isinstance(each.constraint, types.StartDateConstraint), "prices by the hour are not read yet"
            yield each.constraint.start_date


def _rates(model: types.ModelInfo, provider: types.Provider, day: date) -> Rates | None:
    """Return the rates of the lowest tier: tiers go by the length of one call, and known are only sums of many."""
    few = 1000
    at = datetime.combine(max(day, date(1970, 1, 1)), time(12), UTC)

    def rate(**tokens: int) -> Decimal:
        found = model.calc_price(Usage(**tokens), provider, genai_request_timestamp=at)
        return (found.total_price / few * PER).normalize()

    rates = Rates(
        input=rate(input_tokens=few),
        cache_read=rate(input_tokens=few, cache_read_tokens=few),
        cache_write=rate(input_tokens=few, cache_write_tokens=few),
        output=rate(output_tokens=few),
        since=day,
    )
    return rates if rates.input and rates.output else None


if __name__ == "__main__":
    main()
