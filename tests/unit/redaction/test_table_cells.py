from __future__ import annotations

import pytest

from grader_daemon.redaction import MARK, SECRETS
from tests.timing import cpu_seconds

redact = SECRETS.redact


@pytest.mark.parametrize(
    ("text", "redacted"),
    [
        pytest.param(
            "user,password,role\neva,Fi7tatu.lu,admin\r\nkim,hunter2x,user\n",
            f"user,password,role\neva,{MARK},admin\r\nkim,{MARK},user\n",
            id="csv",
        ),
        pytest.param(
            " name | password \n------+----------\n eva  | Fi7tatu.lu\n(1 row)\nFi7tatu.lu",
            f" name | password \n------+----------\n eva  | {MARK}\n(1 row)\nFi7tatu.lu",
            id="rows-end-where-another-number-of-cells-is",
        ),
        pytest.param("\tuser\tpwd\n\teva\thunter2x\n", f"\tuser\tpwd\n\teva\t{MARK}\n", id="indented"),
        pytest.param("id;api_key\n1;Ab3dE6gH9kL2\n", f"id;api_key\n1;{MARK}\n", id="key"),
        pytest.param(
            "id,password\n1,\n2,***\n3,north\n", "id,password\n1,\n2,***\n3,north\n", id="blanks-and-words-stay"
        ),
        pytest.param("user,tokens\neva,Ab3dE6gH9kL2\n", "user,tokens\neva,Ab3dE6gH9kL2\n", id="a-number-of-tokens"),
        pytest.param("my_token\nnorth", "my_token\nnorth", id="one-column-is-no-table"),
        pytest.param(
            "def f(user, password, host=x()):\n    go(a, b2cd3efg, c)",
            "def f(user, password, host=x()):\n    go(a, b2cd3efg, c)",
            id="arguments-are-no-headings",
        ),
        pytest.param("user,password", "user,password", id="headings-alone"),
    ],
)
def test_cells_below_a_heading_are_covered_and_the_rest_stays(text: str, redacted: str) -> None:
    assert redact(text) == redacted


def test_lines_that_are_too_long_are_no_table() -> None:
    long = "x" * 2100

    assert redact(f"user,password,{long}\neva,hunter2x,y\n") == f"user,password,{long}\neva,hunter2x,y\n"
    assert redact(f"user,password\neva,hunter2x\n{long},b\n") == f"user,password\neva,{MARK}\n{long},b\n"
    assert redact(f"user,password\n{'y ' * 300},hunter2x\n") == f"user,password\n{'y ' * 300},hunter2x\n"


def test_tables_take_linear_time() -> None:
    tables = "user,password,token\n" * 20_000
    rows = "user,password,token\n" + "eva,x,y\n" * 50_000

    assert cpu_seconds(lambda: redact(tables)) < 10
    assert cpu_seconds(lambda: redact(rows)) < 10
    assert redact(f"user,password\n{'eva,hunter2x' + chr(10)}" * 2).count(MARK) == 2
    many = redact("user,password\n" + "eva,hunter2x\n" * 600)
    assert many.count(MARK) == 500
