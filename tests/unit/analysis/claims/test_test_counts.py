from __future__ import annotations

import pytest

from grader_daemon.analysis.claims.test_counts import CountedTests, counts_in
from tests.tables import for_each

_MANY_CRATES = (
    "test result: ok. 12 passed; 0 failed; 1 ignored; 0 measured; 3 filtered out\n"
    "test result: ok. 3 passed; 0 failed; 0 ignored; 0 measured"
)


@for_each(
    ("output", "expected"),
    [
        pytest.param("=== 3 failed, 12 passed, 1 skipped in 0.3s ===", (12, 3, 1), id="pytest"),
        pytest.param('{"output": "12 passed in 0.3s", "exit_code": 0}', (12, 0, 0), id="pytest-in-an-object"),
        pytest.param("===== 44 deselected in 0.19s =====", (0, 0, 44), id="pytest-all-deselected"),
        pytest.param("== 6 warnings, 1 error in 1.23s ==", (0, 1, 0), id="pytest-error"),
        pytest.param("Tests:       1 failed, 12 passed, 13 total", (12, 1, 0), id="jest"),
        pytest.param("      Tests  11 passed | 1 failed (12)", (11, 1, 0), id="vitest"),
        pytest.param("\x1b[2m Tests \x1b[22m \x1b[1m\x1b[32m12 passed\x1b[39m (12)", (12, 0, 0), id="vitest-in-colour"),
        pytest.param(_MANY_CRATES, (15, 0, 1), id="cargo-adds-its-crates"),
        pytest.param("Summary [   0.1s] 12 tests run: 11 passed, 1 failed, 3 skipped", (11, 1, 3), id="nextest"),
        pytest.param("# tests 13\n# pass 12\n# fail 1", (12, 1, 0), id="tap"),
        pytest.param("  12 passing (3s)\n  1 failing", (12, 1, 0), id="mocha"),
        pytest.param(" 12 pass\n 0 fail", (12, 0, 0), id="bun"),
        pytest.param("Ran 12 tests in 0.1s\n\nFAILED (failures=1, errors=1, skipped=2)", (8, 2, 2), id="unittest"),
        pytest.param("Ran 12 tests in 0.1s\n\nOK", (12, 0, 0), id="unittest-green"),
        pytest.param("OK (skipped=4)", None, id="unittest-cut-off"),
        pytest.param("[INFO] Tests run: 12, Failures: 0, Errors: 1, Skipped: 0", (11, 1, 0), id="maven"),
        pytest.param("Passed!  - Failed:     0, Passed:    12, Skipped:     0, Total:    12", (12, 0, 0), id="dotnet"),
        pytest.param("12 examples, 1 failure, 2 pending", (9, 1, 2), id="rspec"),
        pytest.param("12 runs, 24 assertions, 0 failures, 0 errors, 1 skips", (11, 0, 1), id="minitest"),
        pytest.param("3 doctests, 12 tests, 0 failures", (12, 0, 0), id="mix"),
        pytest.param("OK (12 tests, 24 assertions)", (12, 0, 0), id="phpunit"),
        pytest.param("Tests: 12, Assertions: 24, Failures: 1.", (11, 1, 0), id="phpunit-red"),
        pytest.param("100% tests passed, 0 tests failed out of 12", (12, 0, 0), id="ctest"),
        pytest.param("ok | 12 passed | 0 failed (3ms)", (12, 0, 0), id="deno"),
        pytest.param("12 tests completed, 1 failed", (11, 1, 0), id="gradle"),
        pytest.param("Results: 11/12 tests passed", (11, 1, 0), id="a-script-of-its-own"),
        pytest.param("Total: 9 passed, 2 failed", (9, 2, 0), id="a-script-that-adds-up"),
        pytest.param("3 files changed in 2s", None, id="words-that-count-no-tests"),
        pytest.param("All good, nothing failed", None, id="no-count"),
        pytest.param("", None, id="nothing"),
    ],
)
def test_runners_count_their_tests(output: str, expected: tuple[int, int, int] | None) -> None:
    counts = counts_in(output.lower())

    assert (None if counts is None else tuple(counts)) == expected


def test_skipped_tests_were_collected_but_did_not_run() -> None:
    counts = CountedTests(passed=9, failed=1, skipped=2)

    assert (counts.ran, counts.all) == (10, 12)
