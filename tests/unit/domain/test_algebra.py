from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grader_daemon.domain.algebra import approach, cholesky, dot, gram, inverse_diagonal, solve

NUMBERS = st.floats(-10, 10, allow_nan=False)
ROWS = st.lists(st.lists(NUMBERS, min_size=3, max_size=3), min_size=1, max_size=6)


def test_the_triangle_of_a_matrix_known_by_heart() -> None:
    assert cholesky([[4.0, 2.0], [2.0, 5.0]]) == [[2.0], [1.0, 2.0]]


def test_products_of_all_pairs() -> None:
    first, second = gram([[1.0, 2.0], [3.0, 4.0]])
    assert first == pytest.approx([5, 11])
    assert second == pytest.approx([11, 25])


def test_a_matrix_without_a_root_is_refused() -> None:
    with pytest.raises(ArithmeticError, match="not positive definite"):
        cholesky([[1.0, 2.0], [2.0, 1.0]])


@given(ROWS)
def test_what_is_solved_gives_back_the_right_side(rows: list[list[float]]) -> None:
    matrix = gram(rows)
    for index, row in enumerate(matrix):
        row[index] += 1
    right = [row[0] for row in rows]
    solution = solve(cholesky(matrix), right)
    assert [dot(row, solution) for row in matrix] == pytest.approx(right, abs=1e-6)


@given(ROWS)
def test_what_is_approached_is_what_is_solved(rows: list[list[float]]) -> None:
    matrix = gram(rows)
    for index, row in enumerate(matrix):
        row[index] += 1
    right = [row[0] for row in rows]
    assert approach(matrix, right) == pytest.approx(solve(cholesky(matrix), right), abs=1e-5)


@given(ROWS)
def test_the_diagonal_of_the_inverse_is_that_of_the_solutions_of_unit_vectors(rows: list[list[float]]) -> None:
    matrix = gram(rows)
    for index, row in enumerate(matrix):
        row[index] += 1
    lower = cholesky(matrix)
    units = [[float(index == place) for index in range(len(rows))] for place in range(len(rows))]
    expected = [solve(lower, unit)[place] for place, unit in enumerate(units)]
    assert inverse_diagonal(lower) == pytest.approx(expected)
