from __future__ import annotations

import subprocess
import sys
from datetime import UTC, date, datetime, time
from decimal import Decimal
from importlib.metadata import version

import pytest
from genai_prices import Usage as Counted
from genai_prices import calc_price

from grader_daemon.domain.session import Usage
from grader_daemon.prices import _MAKERS, price
from grader_daemon.prices.lists import lists
from tests.prices import FILE, taken_over, written

AT = datetime(2025, 11, 22, tzinfo=UTC)


def usage(model: str | None, **tokens: int | None) -> Usage:
    known: dict[str, int | None] = {"input_tokens": 1000, "cache_read_tokens": 0, "cache_write_tokens": 0}
    return Usage(model=model, **{**known, "output_tokens": 100, **tokens})


def usd(*parts: Usage, at: datetime = AT) -> float | None:
    found = price(parts, at=at)
    return None if found is None else found.usd


def test_each_kind_of_token_has_its_price() -> None:
    # Claude Sonnet 4.5, a million tokens: 3 $ read, 0.30 $ from a cache, 3.75 $ into one, 15 $ written
    # 0.003 + 0.06 + 0.0375 + 0.075
    used = usage("claude-sonnet-4-5-20250929", cache_read_tokens=200_000, cache_write_tokens=10_000, output_tokens=5000)

    assert usd(used) == pytest.approx(0.1755)


def test_many_short_calls_are_not_taken_for_a_long_one() -> None:
    """Above 200,000 tokens in one call the same model costs 6 $; a sum over calls does not say that one was so long."""
    assert usd(usage("claude-sonnet-4-5", input_tokens=1_000_000, output_tokens=0)) == pytest.approx(3.0)


def test_the_models_of_a_session_are_summed_up() -> None:
    # 3 $ + 1 $ for a million each
    parts = [
        usage(model, input_tokens=1_000_000, output_tokens=0) for model in ("claude-sonnet-4-5", "claude-haiku-4-5")
    ]

    assert usd(*parts) == pytest.approx(4.0)


def test_a_price_is_that_of_the_time() -> None:
    """OpenAI made o3 cheaper on 2025-06-10: from 10 $ to 2 $ for a million tokens read."""
    used = usage("o3", input_tokens=1_000_000, output_tokens=0)

    assert usd(used, at=datetime(2025, 6, 1, tzinfo=UTC)) == pytest.approx(10.0)
    assert usd(used, at=datetime(2025, 6, 11, tzinfo=UTC)) == pytest.approx(2.0)


def test_the_list_is_named_with_its_version() -> None:
    found = price([usage("gpt-5")], at=AT)

    assert found is not None
    assert found.by == f"genai-prices {version('genai-prices')}"


@pytest.mark.parametrize(
    "model",
    [
        pytest.param("anthropic/claude-opus-4.5", id="of-a-router"),
        pytest.param("us.anthropic.claude-sonnet-4-5-20250929-v1:0", id="of-a-cloud"),
        pytest.param("claude-sonnet-4-5@20250929", id="of-another-cloud"),
        pytest.param("gpt-5.1-codex-max", id="of-openai"),
        pytest.param("models/gemini-2.5-pro", id="of-google"),
        pytest.param("grok-code-fast-1", id="of-x-ai"),
    ],
)
def test_a_model_that_only_its_maker_serves_has_a_price(model: str) -> None:
    assert usd(usage(model)) is not None


@pytest.mark.parametrize(
    "used",
    [
        pytest.param(usage(None), id="no-model"),
        pytest.param(usage("claude-of-tomorrow-99"), id="unknown-model"),
        pytest.param(usage("deepseek-r1:8b"), id="open-model-that-may-run-here"),
        pytest.param(usage("openai/gpt-oss-20b"), id="open-model-of-a-maker-of-closed-ones"),
        pytest.param(usage("gpt-5" + "x" * 1000), id="name-too-long-to-be-one"),
        pytest.param(usage("gpt-5", input_tokens=None), id="reading-unknown"),
        pytest.param(usage("gpt-5", output_tokens=None), id="writing-unknown"),
        pytest.param(usage("claude-sonnet-4-5", cache_write_tokens=None), id="unknown-kind-with-its-own-price"),
        pytest.param(usage("gpt-5", output_tokens=-1), id="negative"),
        pytest.param(usage("gpt-5", output_tokens=10**15), id="more-than-anybody-pays"),
        pytest.param(usage("gpt-5", input_tokens=0, output_tokens=0), id="nothing-used"),
    ],
)
def test_what_is_not_known_has_no_price(used: Usage) -> None:
    assert usd(used) is None


def test_one_part_without_a_price_leaves_the_whole_unknown() -> None:
    assert usd(usage("gpt-5"), usage("a-model-of-our-own")) is None


def test_a_kind_without_a_price_of_its_own_may_be_unknown() -> None:
    """GPT-5 has none for writing to a cache: who reports no such tokens counts them as read."""
    assert usd(usage("gpt-5", cache_write_tokens=None)) == usd(usage("gpt-5"))


def test_a_model_that_was_not_used_needs_no_price() -> None:
    """Claude Code notes calls that failed under a model `<synthetic>` with 0 tokens."""
    failed = usage("<synthetic>", input_tokens=0, output_tokens=0)

    assert usd(usage("gpt-5"), failed) == usd(usage("gpt-5"))


def test_the_lists_are_loaded_only_for_a_model_that_may_be_in_them() -> None:
    program = (
        "import sys; from datetime import UTC, datetime; from grader_daemon.domain.session import Usage;"
        "import grader_daemon.bootstrap; from grader_daemon.prices import lists, price;"
        "assert price([Usage(model='local', input_tokens=1, output_tokens=1)], at=datetime.now(UTC)) is None;"
        "assert lists.cache_info().currsize == 0"
    )

    subprocess.run([sys.executable, "-c", program], check=True)


def test_the_lists_are_those_of_the_package() -> None:
    assert written(taken_over(lists().taken)) == FILE.read_bytes(), "python -m tests.prices"


def _names(*, of_several_prices: bool) -> set[tuple[str, str]]:
    """Return makers and names that their lists speak of, as they are, and with a date as routers write it."""
    patterns = {maker: pattern for pattern, maker in _MAKERS}
    matches = [
        (maker, model.match)
        for maker, models in lists().makers.items()
        for model in models
        if len(model.rates) > of_several_prices
    ]
    return {
        (maker, name + date)
        for maker, match in matches
        for name in (*match.equals, *match.starts, *match.contains)
        for date in ("", "-20251211")
        if patterns[maker].match(name)
    }


def _by_the_package(maker: str, name: str, day: date) -> tuple[Decimal, ...] | None:
    """Return the price of a million tokens of each kind as the package has it, where it is sold by tokens."""

    def rate(**tokens: int) -> Decimal:
        at = datetime.combine(day, time(12), UTC)
        found = calc_price(Counted(**tokens), name, provider_id=maker, genai_request_timestamp=at)
        return found.total_price * 1000

    try:
        rates = (
            rate(input_tokens=1000),
            rate(input_tokens=1000, cache_read_tokens=1000),
            rate(input_tokens=1000, cache_write_tokens=1000),
            rate(output_tokens=1000),
        )
    except LookupError:
        return None
    return rates if rates[0] and rates[-1] else None


@pytest.mark.parametrize(
    ("of_several_prices", "day"),
    [
        pytest.param(False, date(2026, 11, 26), id="today"),
        pytest.param(True, date(2024, 1, 1), id="before-prices-changed"),
    ],
)
def test_a_name_costs_what_it_does_in_the_package(of_several_prices: bool, day: date) -> None:
    names = _names(of_several_prices=of_several_prices)
    found = {name: lists().rates(*name, day) for name in names}

    assert len(names) > 20
    assert {
        name: rates and (rates.input, rates.cache_read, rates.cache_write, rates.output)
        for name, rates in found.items()
    } == {name: _by_the_package(*name, day) for name in names}
