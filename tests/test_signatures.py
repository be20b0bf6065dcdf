from __future__ import annotations

from tests.signatures import RECORDED, signatures


def test_public_names_take_what_was_recorded() -> None:
    """If that changes on purpose, ``python -m tests.signatures`` records it; the diff is what users must change."""
    now, recorded = "\n".join(signatures()).splitlines(), RECORDED.read_text("utf-8").splitlines()

    assert now == recorded, f"{RECORDED.name} is stale; `python -m tests.signatures` records it, review the diff"
