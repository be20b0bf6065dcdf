"""The result of grading many files, as it is told."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from grader_daemon import IngestOutcome, IngestResult
from grader_daemon.cli import output
from grader_daemon.cli.status import file_words

_TROUBLE = (IngestOutcome.QUARANTINED, IngestOutcome.RETRY_SCHEDULED, IngestOutcome.UNRECORDED)


def graded_with_progress(title: str, total: int, batches: Iterable[Sequence[IngestResult]]) -> Counter[IngestOutcome]:
    """Go through what comes of each batch, with a progress bar; whoever stops it is told how far it came."""
    outcomes: Counter[IngestOutcome] = Counter()
    try:
        with output.progress(title, total) as advance:
            for recorded in batches:
                outcomes.update(each.outcome for each in recorded)
                advance(len(recorded))
    except KeyboardInterrupt:
        done = outcomes.total()
        output.error(f"Stopped: {done:,} of {total:,} files are done and saved. Start again for the rest.")
        raise
    return outcomes


def tell_outcomes(outcomes: Counter[IngestOutcome], *, as_json: bool) -> None:
    """Print how many files came to what."""
    counts = sorted(outcomes.items())
    if as_json:
        output.document(files=dict(counts))
    else:
        output.line(", ".join(f"{number} {file_words(what)}" for what, number in counts) or "Nothing to do.")


def is_trouble(outcomes: Counter[IngestOutcome]) -> bool:
    """True if a file could not be graded."""
    return any(outcomes[each] for each in _TROUBLE)
