from __future__ import annotations

import pytest

from grader_daemon.domain.session_result import EndingKind, ResultStanding, ended_badly


@pytest.mark.parametrize(
    ("ending", "standing", "bad"),
    [
        pytest.param(EndingKind.ANSWERED, ResultStanding.CLAIMED, False, id="says-done"),
        pytest.param(EndingKind.ANSWERED, ResultStanding.CHECKED, False, id="checked"),
        pytest.param(EndingKind.ANSWERED, ResultStanding.CHECK_FAILED, True, id="its-last-check-failed"),
        pytest.param(EndingKind.ANSWERED, ResultStanding.CONTRADICTED, True, id="contradicted"),
        pytest.param(EndingKind.ANSWERED, ResultStanding.ADMITTED, True, id="says-that-it-is-not-done"),
        pytest.param(EndingKind.GAVE_UP, ResultStanding.ADMITTED, True, id="gave-up"),
        pytest.param(EndingKind.LIMIT, ResultStanding.NO_CLAIM, True, id="cut-short-by-a-limit"),
        pytest.param(EndingKind.PERSON, ResultStanding.NO_CLAIM, False, id="stopped-by-a-person"),
        pytest.param(EndingKind.LEFT, ResultStanding.NO_CLAIM, True, id="left-midway"),
        pytest.param(EndingKind.NO_ANSWER, ResultStanding.NO_CLAIM, True, id="without-an-answer"),
        pytest.param(EndingKind.HANDED_OVER, ResultStanding.NO_CLAIM, False, id="handed-over"),
        pytest.param(None, ResultStanding.CLAIMED, None, id="nobody-knows-how-it-ended"),
        pytest.param(EndingKind.ANSWERED, None, None, id="nobody-knows-how-its-result-stands"),
    ],
)
def test_a_session_ends_badly_by_its_record(
    ending: EndingKind | None, standing: ResultStanding | None, bad: bool | None
) -> None:
    assert ended_badly(ending, standing) is bad
