"""Which words occur, without keeping any: each falls into one of a few buckets, and many words share one.

They say nothing before there are labels of one's own, for what a word means differs from one kind of work to the next;
then they help most. Not to be turned back into text: a bucket holds thousands of words.
"""

from __future__ import annotations

from typing import Final

from grader_daemon.analysis.features.feature import Feature
from grader_daemon.analysis.features.scene import Scene
from grader_daemon.analysis.features.words import Buckets
from grader_daemon.domain.features import MARKS

_PLACES: Final = {"answer": "The answer has", "result": "The last two results have", "call": "The last six calls have"}
_BUCKETS: Final = MARKS // len(_PLACES)

FEATURES: Final = tuple(
    Feature(f"hash:{place}:{bucket}", f"{who} a word of bucket {bucket} of {_BUCKETS}.")
    for place, who in _PLACES.items()
    for bucket in range(_BUCKETS)
)

_OF_ANSWER = 80
_OF_RESULT = 30
_OF_CALL = 30
_BUCKET_OF: Final = Buckets(_BUCKETS)


def measure(scene: Scene) -> list[int]:
    """Give the features of this group, in order: of each text its first words."""
    seen = [0] * len(FEATURES)
    _BUCKET_OF.mark(scene.answer_tokens[:_OF_ANSWER], seen, 0)
    for result in scene.results[-2:]:
        _BUCKET_OF.mark(result.tokens[:_OF_RESULT], seen, _BUCKETS)
    for tokens in scene.called:
        _BUCKET_OF.mark(tokens[:_OF_CALL], seen, 2 * _BUCKETS)
    _BUCKET_OF.mark({call.tool.encode("utf-8", "replace") for call in scene.calls[-6:]}, seen, 2 * _BUCKETS)
    return seen
