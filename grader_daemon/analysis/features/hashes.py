"""Which words occur, without keeping any: each falls into one of a few buckets, and many words share one.

They say nothing before there are labels of one's own, for what a word means differs from one kind of work to the next;
then they help most. Not to be turned back into text: a bucket holds thousands of words.
"""

from __future__ import annotations

from typing import Final

from grader_daemon.analysis.features.feature import Feature
from grader_daemon.analysis.features.scene import Scene
from grader_daemon.analysis.features.words import mark, plain

_BUCKETS: Final = 128
_PLACES: Final = {"answer": "The answer has", "result": "The last two results have", "call": "The last six calls have"}

FEATURES: Final = tuple(
    Feature(f"hash:{place}:{bucket}", f"{who} a word of bucket {bucket} of {_BUCKETS}.")
    for place, who in _PLACES.items()
    for bucket in range(_BUCKETS)
)

_ANSWER_REACH = 500
_RESULT_REACH = 200
_CALL_REACH = 200


def measure(scene: Scene) -> list[int]:
    """Give the features of this group, in order."""
    seen = [0] * len(FEATURES)
    mark(scene.answer_plain[:_ANSWER_REACH].split(), seen, 0, _BUCKETS)
    for result in scene.results[-2:]:
        mark(result.plain[:_RESULT_REACH].split(), seen, _BUCKETS, _BUCKETS)
    calls = " ".join([f"{call.tool} {call.arguments[:_CALL_REACH]}" for call in scene.calls[-6:]])
    mark(plain(calls).split(), seen, 2 * _BUCKETS, _BUCKETS)
    return seen
