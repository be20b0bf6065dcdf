"""What other parts of the analysis have found out: claims held against the record, and what people let know."""

from __future__ import annotations

from typing import Final

from grader_daemon.analysis.features.feature import Feature, log
from grader_daemon.analysis.features.session_window import SessionWindow
from grader_daemon.analysis.features.words import share
from grader_daemon.domain.claims import Support
from grader_daemon.domain.people import ACCEPTING, OBJECTING

FEATURES: Final = (
    Feature("claims", "Claims of the answer.", 0, 12),
    Feature("claims_verified", "Share of them that the record shows.", 0.5),
    Feature("claims_unsupported", "Share of them of which the record shows nothing.", -0.5),
    Feature("claim_contradicted", "The record shows the opposite of one.", -1),
    Feature("objected", "The last signal of a person objects.", -1),
    Feature("accepted", "The last signal of a person accepts.", 0.5),
)


def measure(window: SessionWindow) -> tuple[float, ...]:
    """Return the features of this group, in order."""
    support = [claim.support for claim in window.claims]
    last = window.signals[-1].kind if window.signals else None
    return (
        log(len(support)),
        share(support.count(Support.VERIFIED), len(support)),
        share(support.count(Support.UNSUPPORTED), len(support)),
        float(Support.CONTRADICTED in support),
        float(last in OBJECTING),
        float(last in ACCEPTING),
    )
