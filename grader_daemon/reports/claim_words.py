"""Words on the claims of many sessions, held against their records."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from grader_daemon.domain.claims import ClaimTally, Support
from grader_daemon.domain.text import count
from grader_daemon.reports.safe_text import Words, joined, name

SUPPORTS: Final = (Support.VERIFIED, Support.UNSUPPORTED, Support.STALE, Support.PARTIAL, Support.CONTRADICTED)
"""Results of a check, in the order in which they are told."""

_MOST_MODELS: Final = 3


def kind_words(tally: ClaimTally) -> str:
    """Return what is claimed: "tests passed"."""
    return tally.kind.value.replace("_", " ")


def against_words(tally: ClaimTally) -> Words:
    """Return in how many sessions the record speaks against it, by model: "3: claude-opus 2, gpt 1"; "0" where none."""
    models = list(tally.against.items())
    total = sum(tally.against.values())
    if not models:
        return ("0",)
    named: list[Words] = [(name(model), f" {sessions:,}") for model, sessions in models[:_MOST_MODELS]]
    more = len(models) - _MOST_MODELS
    return (f"{total:,}: ", *joined(named, ", "), f", {count(more, 'more model')}" if more > 0 else "")


def tally_sentences(tallies: Sequence[ClaimTally]) -> Iterator[Words]:
    """Yield a sentence for each kind of claim that a record speaks against, most sessions first."""
    for tally in tallies:
        if tally.against:
            said = f"Claimed in {count(tally.sessions, 'session')}: {kind_words(tally)}. The record contradicts it in "
            yield (said, *against_words(tally), ".")
