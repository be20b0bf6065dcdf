"""Usage of the calls of a thread, from lines that tell it once, twice, or as running totals."""

from __future__ import annotations

from grader_daemon.domain.session import Usage, usage_by_model
from grader_daemon.sources.codex.rollout_lines import Counts


class TokenSums:
    """The tokens of each model."""

    def __init__(self) -> None:
        self._calls: list[Usage] = []
        self._total: Counts | None = None

    def add(self, call: Counts | None, *, total: Counts | None, model: str | None) -> bool:
        """Add a call, unless the total of the thread says that it was told before; return whether it is a new one.

        The total alone is no count: that of a fork begins with its parent's, and a resume before 0.110 begins anew.
        """
        if call is None or total is None or total == self._total:
            return False
        self._total = total
        self._calls.append(_usage(call, model))
        return True

    def usage(self) -> tuple[Usage, ...]:
        """Return what was used, one for each model."""
        return usage_by_model(self._calls)


def _usage(call: Counts, model: str | None) -> Usage:
    """Codex counts what came from a cache as part of the input, and writes no count of cache writes before 0.169."""
    fresh = None
    if call.input_tokens is not None and call.cached_input_tokens is not None:
        fresh = max(0, call.input_tokens - call.cached_input_tokens - (call.cache_write_input_tokens or 0))
    return Usage(
        model=model,
        input_tokens=fresh,
        cache_read_tokens=call.cached_input_tokens,
        cache_write_tokens=call.cache_write_input_tokens,
        output_tokens=call.output_tokens,
        reasoning_tokens=call.reasoning_output_tokens,
    )
