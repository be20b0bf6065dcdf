from __future__ import annotations

import msgspec
import pytest

from grader_daemon.domain.analysis import Category, ErrorName, FailureKind, Subcategory
from tests.strategies import analysis, failures, grade


@pytest.mark.parametrize(
    ("errors", "api_calls", "rate"),
    [
        pytest.param(0, 0, 0.0, id="neither"),
        pytest.param(0, 9, 0.0, id="no-failures"),
        pytest.param(1, 4, 0.25, id="some"),
        pytest.param(3, 2, 1.5, id="several-calls-in-one-message"),
        pytest.param(2, 0, 2.0, id="results-without-an-assistant-message"),
    ],
)
def test_error_rate_is_failures_per_assistant_message(errors: int, api_calls: int, rate: float) -> None:
    assert analysis(failures=failures(errors), total_api_calls=api_calls).error_rate == rate


def test_probes_are_failures_and_no_errors() -> None:
    harm, probe = failures(2)
    probe = msgspec.structs.replace(probe, kind=FailureKind.PROBE)
    found = analysis(failures=(harm, probe), total_api_calls=4)
    assert (found.errors, found.total_errors, found.error_rate) == ((harm,), 1, 0.25)
    assert grade(failures=(harm, probe)).errors == (harm,)


def test_a_failure_is_told_by_its_finest_kind_in_words() -> None:
    (failed,) = failures(1)
    told = [
        msgspec.structs.replace(failed, category=each).words for each in (Category.FILE_NOT_FOUND, Category.UNKNOWN)
    ]
    assert told == ["file not found", "unknown error"]


def test_errors_are_found_by_each_category_and_each_finer_kind() -> None:
    assert list(map(str, ErrorName)) == [*map(str, Category), *map(str, Subcategory)]
