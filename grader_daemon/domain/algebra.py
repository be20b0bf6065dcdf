"""Symmetric systems of equations, in plain Python: a few hundred unknowns need no library that takes a second to load.

Matrices are lists of rows. Sums of products of whole rows run at the speed of the interpreter's built-ins.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from operator import mul

Vector = Sequence[float]
Matrix = list[list[float]]

_PRECISION = 1e-8
"""Tolerance of `approach`: the length of the residual, relative to that of the right side."""


def dot(left: Vector, right: Vector) -> float:
    """Return the sum of the products."""
    total: float = sum(map(mul, left, right))
    return total


def gram(rows: Sequence[Vector]) -> Matrix:
    """Return the products of all pairs of rows: a symmetric matrix, as many rows as there are.

    They are told by the distances (the polarisation identity), which the standard library sums in C.
    """
    points = list(map(tuple, rows))
    sizes = [dot(point, point) for point in points]
    products: Matrix = [[0.0] * len(points) for _ in points]
    for index, (point, size) in enumerate(zip(points, sizes, strict=True)):
        products[index][index] = size
        for other in range(index):
            apart = math.dist(point, points[other])
            products[index][other] = products[other][index] = (size + sizes[other] - apart * apart) / 2
    return products


def cholesky(matrix: Matrix) -> Matrix:
    """Return the lower triangle whose product with its transpose is `matrix`; row `i` has `i + 1` numbers.

    Raises:
        ArithmeticError: the matrix is not positive definite.
    """
    lower: Matrix = []
    for index, source in enumerate(matrix):
        row: list[float] = []
        for other in range(index):
            above = lower[other]
            row.append((source[other] - dot(row, above)) / above[other])
        pivot = source[index] - dot(row, row)
        if not pivot > 0:
            raise ArithmeticError("the matrix is not positive definite")
        row.append(math.sqrt(pivot))
        lower.append(row)
    return lower


def solve(lower: Matrix, right: Vector) -> list[float]:
    """Solve the equations of the matrix whose Cholesky triangle is `lower`."""
    forward: list[float] = []
    for row, value in zip(lower, right, strict=True):
        forward.append((value - dot(forward, row)) / row[-1])
    solution = [0.0] * len(lower)
    for index in reversed(range(len(lower))):
        row = lower[index]
        solution[index] = value = forward[index] / row[-1]
        for other in range(index):
            forward[other] -= row[other] * value
    return solution


def approach(matrix: Matrix, right: Vector) -> list[float]:
    """Solve the equations of a positive definite matrix step by step, by conjugate gradients.

    With few great eigenvalues that takes few steps, each as long as one product of the matrix: for hundreds of unknowns
    less than its Cholesky triangle (Hestenes and Stiefel, Journal of Research of the NBS 49, 1952).
    """
    solution, rest = [0.0] * len(right), list(right)
    towards, left = rest, dot(rest, rest)
    enough, steps = left * _PRECISION * _PRECISION, 2 * len(right)
    while left > enough and steps:
        steps -= 1
        moved = [dot(row, towards) for row in matrix]
        step = left / dot(towards, moved)
        solution = [value + step * part for value, part in zip(solution, towards, strict=True)]
        rest = [value - step * part for value, part in zip(rest, moved, strict=True)]
        before, left = left, dot(rest, rest)
        towards = [value + left / before * part for value, part in zip(rest, towards, strict=True)]
    return solution


def inverse_diagonal(lower: Matrix) -> list[float]:
    """Return the diagonal of the inverse of the matrix whose Cholesky triangle is `lower`."""
    diagonal = []
    for start in range(len(lower)):
        column = [1 / lower[start][start]]
        for index in range(start + 1, len(lower)):
            row = lower[index]
            column.append(-dot(row[start:index], column) / row[index])
        diagonal.append(dot(column, column))
    return diagonal
