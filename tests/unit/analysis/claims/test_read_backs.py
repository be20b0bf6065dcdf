from __future__ import annotations

import json

import pytest

from tests.tables import for_each
from tests.unit.analysis.claims.test_verify import OK, Step, ledger, read, shell, step, write

MADE = "The result was saved to out.csv."
CONTENT = '{"content": "a,b\\n1,2"}'
MAKE = shell("python gen.py")


def says(output: str, code: int = 0) -> str:
    return json.dumps({"output": output, "exit_code": code, "error": None})


def cat(command: str, output: str = "a,b\n1,2", code: int = 0) -> Step:
    return shell(command, says(output, code))


@for_each(
    ("steps", "place"),
    [
        pytest.param([MAKE, read("out.csv", CONTENT)], 4, id="read-by-a-tool"),
        pytest.param([MAKE, read("/app/out.csv", CONTENT)], 4, id="read-under-its-whole-path"),
        pytest.param([MAKE, cat("cat out.csv")], 4, id="cat"),
        pytest.param([MAKE, cat("cd /app && head -3 out.csv && echo done")], 4, id="head-in-a-line"),
        pytest.param([MAKE, cat("cat out.csv | tail -3; echo done")], 4, id="its-exit-code-is-hidden"),
        pytest.param([MAKE, cat("ls -l out.csv", "-rw-r--r-- 1 root root 91 Jan 23 23:58 out.csv")], 4, id="listed"),
        pytest.param(
            [
                MAKE,
                cat("ls -lh /app; file out.csv", "-rw-r--r--  1.1M 2026-03-10 04:46 out.csv\nfile: no command", 127),
            ],
            4,
            id="listed-before-something-failed",
        ),
        pytest.param([cat("python gen.py && cat out.csv")], 2, id="made-and-read-in-one-line"),
        pytest.param([MAKE, cat("wc -l out.csv", "12 out.csv")], 4, id="counted"),
        pytest.param([MAKE, cat("cat out.csv"), shell("python other.py")], 4, id="something-else-ran-after-it"),
    ],
)
def test_a_later_look_shows_a_file(steps: list[Step], place: int) -> None:
    assert ledger(MADE, *steps) == [("verified", (place,), "read_back")]


@for_each(
    "steps",
    [
        pytest.param([MAKE], id="no-look"),
        pytest.param([MAKE, read("out.csv", '{"content": ""}')], id="empty-by-a-tool"),
        pytest.param([MAKE, read("out.csv", "Warning: the file exists but the contents are empty.")], id="told-empty"),
        pytest.param([MAKE, cat("cat out.csv", "")], id="empty"),
        pytest.param([MAKE, cat("wc -l out.csv", "0 out.csv")], id="no-line"),
        pytest.param([MAKE, cat("file out.csv", "out.csv: empty")], id="called-empty"),
        pytest.param([MAKE, cat("ls -l out.csv", "-rw-r--r-- 1 root root 0 Jan 23 23:58 out.csv")], id="of-no-bytes"),
        pytest.param([MAKE, cat("ls out.csv", "out.csv")], id="only-named"),
        pytest.param([MAKE, cat("cat out.csv; ls", "cat: out.csv: No such file or directory\ngen.py")], id="not-there"),
        pytest.param([MAKE, cat("cat out.csv 2>/dev/null; ls", "gen.py")], id="its-error-is-hidden"),
        pytest.param([MAKE, cat("cat out.csv || echo none", "none")], id="perhaps-not-there"),
        pytest.param([MAKE, cat("if [ -f out.csv ]; then cat out.csv; fi; ls", "gen.py")], id="perhaps-not-read"),
        pytest.param([MAKE, cat("cat out.csv.bak")], id="another-file"),
        pytest.param([MAKE, cat("cat out.csv"), shell("rm out.csv")], id="removed-later"),
        pytest.param([cat("cat out.csv"), MAKE, cat("cat out.csv")], id="there-before"),
        pytest.param([cat("cat out.csv; python gen.py")], id="read-before-the-line-could-write"),
        pytest.param([MAKE, cat("echo 'cat out.csv'", "cat out.csv")], id="only-spoken-of"),
        pytest.param([MAKE, step("think", OK, thought="cat out.csv")], id="only-thought-of"),
    ],
)
def test_what_shows_no_file(steps: list[Step]) -> None:
    assert [support for support, _, _ in ledger(MADE, *steps)] == ["unsupported"]


def test_a_look_does_not_show_that_a_file_was_changed() -> None:
    assert ledger("Updated the generated file out.csv.", MAKE, cat("cat out.csv")) == [("unsupported", (), None)]


@for_each(
    "steps",
    [
        pytest.param([shell("echo 'saved > out.csv'")], id="echoed"),
        pytest.param([shell('echo "Results:\n  saved > out.csv"')], id="echoed-in-lines"),
        pytest.param([shell("cat << EOF\nwritten > out.csv\nEOF")], id="printed"),
        pytest.param(
            [shell("cat > gen.py << 'EOF'\nopen('out.csv', 'w')\nEOF")], id="in-a-script-that-is-only-written"
        ),
        pytest.param([step("execute", OK, cell="!tail out.csv")], id="looked-at-in-a-cell"),
        pytest.param([step("create_note", OK, text="I will save it to out.csv")], id="noted"),
        pytest.param([step("send_message", OK, attachment="out.csv")], id="sent"),
        pytest.param([step("delegate_task", OK, goal="write out.csv")], id="only-handed-on"),
        pytest.param([step("create_note", OK, text='named "x" in out.csv')], id="noted-behind-a-quote"),
    ],
)
def test_a_text_about_a_file_does_not_write_it(steps: list[Step]) -> None:
    assert [support for support, _, _ in ledger(MADE, MAKE, *steps)] == ["unsupported"]


@for_each(
    "steps",
    [
        pytest.param([shell("echo 'a,b' > out.csv")], id="echoed-into-it"),
        pytest.param([shell("cat > out.csv << EOF\na,b\nEOF")], id="here-document"),
        pytest.param([shell("python3 << EOF\nopen('out.csv', 'w').write('a')\nEOF")], id="by-code-that-runs"),
        pytest.param([step("execute", OK, cell="import os\nopen('out.csv', 'w').write('a')")], id="by-code-of-a-cell"),
        pytest.param([shell("openssl req -x509 -out out.csv")], id="by-an-option"),
        pytest.param([step("mcp_disk_put", OK, to="/app/out.csv")], id="given-to-a-tool"),
    ],
)
def test_a_call_that_writes_a_file(steps: list[Step]) -> None:
    assert ledger(MADE, *steps) == [("verified", (2,), None)]


def test_a_write_that_was_refused_is_told_as_such() -> None:
    refused = write("out.csv", '{"error": "Permission denied", "success": false}')

    assert ledger("I saved it to out.csv.", refused) == [("contradicted", (2,), "failed")]
    assert ledger("I saved it to out.csv.", read("out.csv")) == [("contradicted", (2,), "no_call")]
