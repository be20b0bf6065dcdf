from __future__ import annotations

import pytest

from grader_daemon.analysis.claims.extract import find_claims
from grader_daemon.domain.claims import ClaimKind
from tests.tables import for_each

T, C = ClaimKind.TESTS_PASSED, ClaimKind.CHECK_PASSED


def kinds(answer: str) -> list[ClaimKind]:
    return sorted(claim.kind for claim in find_claims(answer) if claim.kind in (T, C))


@for_each(
    ("answer", "expected"),
    [
        pytest.param("All tests pass.", [T], id="all"),
        pytest.param("12 passed in 0.4s.", [T], id="counted"),
        pytest.param("The suite is green.", [T], id="green"),
        pytest.param("Tests: pass", [T], id="behind-its-name"),
        pytest.param("- Tests: ✅ 12 passed", [T], id="with-a-sign"),
        pytest.param("Tests ✅", [T], id="a-sign-alone"),
        pytest.param("| Tests | ✅ 12 passed |\n| Lint | ✅ clean |", [C, T], id="table"),
        pytest.param("| a | b | c | d | tests | passed |", [], id="a-wide-table"),
        pytest.param("Verification: `pnpm test` passed.", [T], id="a-command"),
        pytest.param("`pnpm vitest run` passed, `pnpm build` succeeded", [C, T], id="commands"),
        pytest.param("`go test ./...` passes.", [T], id="a-stop-inside-of-a-command"),
        pytest.param("Lint and type check are clean.", [C, C], id="two-checks"),
        pytest.param("Tests, lint, and type check all pass.", [C, C, T], id="three-checks"),
        pytest.param("It compiles without errors.", [C], id="compiles"),
        pytest.param("clean build and all tests green", [C, T], id="clean-build"),
        pytest.param("The tests completed successfully.", [T], id="successfully"),
        pytest.param("Only one import moved, and the whole suite passes.", [T], id="behind-a-comma"),
        pytest.param("If you wait, all tests pass.", [], id="behind-a-condition"),
        pytest.param("The previously failing test now passes.", [T], id="was-red"),
        pytest.param("Existing tests continue to pass.", [T], id="continue"),
        pytest.param("All 12 tests pass after the fix.", [T], id="after"),
        pytest.param("`make test` green: 12 passed", [T], id="no-imperative"),
        pytest.param("11/12 tests pass.", [], id="not-all"),
        pytest.param("✅ Added tests for the parser", [], id="added"),
        pytest.param("### ✅ Build Order", [], id="a-heading"),
        pytest.param("The test file was created successfully.", [], id="a-file"),
        pytest.param("You can run `npm test` to check that it passes.", [], id="advice"),
        pytest.param("The authors report that all 340 tests passed.", [], id="of-others"),
        pytest.param("Does the build pass?", [], id="asked"),
        pytest.param("Alle 12 Tests bestehen.", [T], id="german"),
        pytest.param("Die komplette Testsuite ist wieder grün.", [T], id="german-suite"),
        pytest.param("Die Tests bestehen nicht.", [], id="german-denied"),
        pytest.param("Tous les tests passent.", [T], id="french"),
        pytest.param("Todas las pruebas pasan (14).", [T], id="spanish"),
        pytest.param("全部 12 个测试均已通过", [T], id="chinese"),
        pytest.param("测试未通过", [], id="chinese-denied"),
    ],
)
def test_checks_that_are_said_to_be_fine(answer: str, expected: list[ClaimKind]) -> None:
    assert kinds(answer) == expected


def test_the_number_and_the_extent_are_kept() -> None:
    (full,) = find_claims("The full suite passes: 212 tests passed.")
    (some,) = find_claims("Alle 12 Tests bestehen.")

    assert (full.count, full.is_full, full.is_whole) == (212, True, True)
    assert (some.count, some.is_whole, some.is_limited) == (12, True, False)
