from __future__ import annotations

import msgspec
import pytest

from grader_daemon.domain.feedback import Feedback, FeedbackSource
from grader_daemon.outcomes.model import MadeCommit, Reverted, RevertKind, SeenFate
from grader_daemon.outcomes.revert_labels import revert_said
from tests.feedback_examples import feedback, withdrawal
from tests.strategies import NOW

STANDING = SeenFate(looked_at=NOW, commits=(MadeCommit(commit="a" * 40, at=NOW, named=True, lines=9),))
BACK = msgspec.structs.replace(
    STANDING, reverted=(Reverted(commit="a" * 40, by="b" * 40, at=NOW, kind=RevertKind.MESSAGE),)
)
OURS = feedback(1, completed=False, source=FeedbackSource.REVERT, given_by="git", note="reverted by bbbbbbb")


def by_git(number: int, withdraws: int) -> Feedback:
    return msgspec.structs.replace(withdrawal(number, withdraws), source=FeedbackSource.REVERT)


@pytest.mark.parametrize(
    ("fate", "given", "said"),
    [
        pytest.param(STANDING, [], None, id="nothing-to-say"),
        pytest.param(BACK, [], False, id="reverted"),
        pytest.param(BACK, [feedback(1)], False, id="beside-a-persons-word"),
        pytest.param(BACK, [OURS], None, id="said-before"),
        pytest.param(STANDING, [OURS], 1, id="it-stands-again"),
        pytest.param(STANDING, [OURS, by_git(2, 1)], None, id="taken-back-before"),
        pytest.param(BACK, [OURS, by_git(2, 1)], False, id="reverted-anew"),
        pytest.param(BACK, [OURS, withdrawal(2, 1)], None, id="a-person-took-it-back"),
        pytest.param(STANDING, [OURS, withdrawal(2, 1)], None, id="and-it-stands-again"),
    ],
)
def test_a_label_is_given_and_taken_back_once(fate: SeenFate, given: list[Feedback], said: bool | int | None) -> None:
    found = revert_said("s", fate, given)

    if said is None:
        assert found is None
    elif said is False:
        assert found is not None
        assert (found.completed, found.note, found.by) == (False, "reverted by bbbbbbb", "git")
    else:
        assert found is not None
        assert (found.withdraws, found.completed) == (said, None)
