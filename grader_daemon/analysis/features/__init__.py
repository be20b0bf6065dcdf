"""Features of a session, as numbers: the evidence of a `CompletionModel`.

Every feature means the same for any agent and any kind of work. None tells a model, a platform or a source; text only
counts here, and none of it is kept. `FEATURES` is the one table: a model that was learned names its version.
"""

from __future__ import annotations

from typing import Final

from grader_daemon.analysis.features import (
    activity,
    answer_style,
    change_features,
    claims_features,
    ending,
    error_features,
    final_answer,
    hashed_words,
    lookups,
    repetition,
    services,
    specifics,
    turns_of_people,
)
from grader_daemon.analysis.features.hashed_words import WORDS
from grader_daemon.analysis.features.session_window import SessionWindow
from grader_daemon.domain.session_features import Features

__all__ = ["DIRECTIONS", "FEATURES", "HIGHEST_VALUES", "WORDS", "features_of"]

_GROUPS: Final = (
    ending,
    error_features,
    repetition,
    activity,
    change_features,
    services,
    specifics,
    answer_style,
    turns_of_people,
    claims_features,
    final_answer,
    lookups,
)
_MEASURES: Final = tuple(group.measure for group in _GROUPS)
_ALL: Final = tuple(feature for group in (*_GROUPS, hashed_words) for feature in group.FEATURES)

FEATURES: Final = {feature.name: feature.meaning for feature in _ALL}
"""Description of each feature, in their order in `Analysis.features`."""

DIRECTIONS: Final = {feature.name: feature.direction for feature in _ALL}
"""Sign of each feature before any data: above 0 speaks for a completed task, below against, 0 depends on the work."""

HIGHEST_VALUES: Final = {feature.name: feature.most for feature in _ALL}
"""The range of each feature: from 0 to this."""


def features_of(window: SessionWindow) -> Features:
    """Return the features of a session, each a finite number of its range."""
    values: list[float] = []
    for measure in _MEASURES:
        values += measure(window)
    return Features(tuple(values), hashed_words.measure(window))
